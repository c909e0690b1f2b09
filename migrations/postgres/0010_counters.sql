CREATE TABLE "certificate_counts" (
	"ca_id" text NOT NULL,
	"status" text NOT NULL,
	"day" bigint NOT NULL,
	"profile" text NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "certificate_counts_ca_id_status_day_profile_pk" PRIMARY KEY("ca_id","status","day","profile")
);
--> statement-breakpoint
CREATE TABLE "revocation_counts" (
	"ca_id" text PRIMARY KEY NOT NULL,
	"number" bigint NOT NULL
);
--> statement-breakpoint
CREATE FUNCTION "count_certificates"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "not_after" / 86400000, "profile", count(*) FROM added WHERE "kind" = 'leaf' GROUP BY 1, 2, 3, 4
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "not_after" / 86400000, "profile", -count(*) FROM removed WHERE "kind" = 'leaf' GROUP BY 1, 2, 3, 4
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSE
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "day", "profile", sum("n") FROM (
			SELECT "ca_id", "status", "not_after" / 86400000 AS "day", "profile", 1 AS "n" FROM added WHERE "kind" = 'leaf'
			UNION ALL SELECT "ca_id", "status", "not_after" / 86400000, "profile", -1 FROM removed WHERE "kind" = 'leaf'
		) AS changed GROUP BY 1, 2, 3, 4 HAVING sum("n") <> 0
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "certificates_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
CREATE TRIGGER "certificates_changed" AFTER UPDATE ON "certificates" REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
CREATE TRIGGER "certificates_removed" AFTER DELETE ON "certificates" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
INSERT INTO "certificate_counts" SELECT "ca_id", "status", "not_after" / 86400000, "profile", count(*) FROM "certificates" WHERE "kind" = 'leaf' GROUP BY 1, 2, 3, 4;--> statement-breakpoint
CREATE FUNCTION "count_revocations"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO "revocation_counts" AS c SELECT "ca_id", count(*) FROM added GROUP BY 1
		ON CONFLICT ("ca_id") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSE
		INSERT INTO "revocation_counts" AS c SELECT "ca_id", -count(*) FROM removed GROUP BY 1
		ON CONFLICT ("ca_id") DO UPDATE SET "number" = c."number" + excluded."number";
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "revocations_added" AFTER INSERT ON "revocations" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_revocations"();--> statement-breakpoint
CREATE TRIGGER "revocations_removed" AFTER DELETE ON "revocations" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_revocations"();--> statement-breakpoint
INSERT INTO "revocation_counts" SELECT "ca_id", count(*) FROM "revocations" GROUP BY "ca_id";
