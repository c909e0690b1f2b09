CREATE TABLE "day_counts" (
	"ca_id" text NOT NULL,
	"day" bigint NOT NULL,
	"kind" text NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "day_counts_ca_id_day_kind_pk" PRIMARY KEY("ca_id","day","kind")
);
--> statement-breakpoint
INSERT INTO "day_counts" SELECT "ca_id", "created_at" / 86400000, 'issued', count(*) FROM "certificates" WHERE "kind" = 'leaf' GROUP BY 1, 2 UNION ALL SELECT "ca_id", coalesce("revoked_at", "created_at") / 86400000, 'revoked', count(*) FROM "certificates" WHERE "kind" = 'leaf' AND "status" = 'revoked' GROUP BY 1, 2;--> statement-breakpoint
CREATE FUNCTION "day_counts_added"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "day_counts" SELECT "ca_id", "created_at" / 86400000, 'issued', count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 2 UNION ALL SELECT "ca_id", coalesce("revoked_at", "created_at") / 86400000, 'revoked', count(*) FROM "added" WHERE "kind" = 'leaf' AND "status" = 'revoked' GROUP BY 1, 2 ON CONFLICT ("ca_id", "day", "kind") DO UPDATE SET "number" = "day_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "day_counts_changed"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "day_counts" SELECT n."ca_id", coalesce(n."revoked_at", n."created_at") / 86400000, 'revoked', count(*) FROM "after" n JOIN "before" o USING ("ordinal") WHERE n."kind" = 'leaf' AND n."status" = 'revoked' AND o."status" <> 'revoked' GROUP BY 1, 2 ON CONFLICT ("ca_id", "day", "kind") DO UPDATE SET "number" = "day_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "day_counts_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "day_counts_added"();--> statement-breakpoint
CREATE TRIGGER "day_counts_changed" AFTER UPDATE ON "certificates" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after" FOR EACH STATEMENT EXECUTE FUNCTION "day_counts_changed"();--> statement-breakpoint
-- A certificate that came in as revoked, adopted or moved, was counted as living, and not as revoked.
CREATE OR REPLACE FUNCTION "tenant_counts_added"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT "tenant", 'issued', "created_at" / 86400000, count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 3 UNION ALL SELECT "tenant", 'living', "not_after" / 3600000, count(*) FROM "added" WHERE "kind" = 'leaf' AND "status" <> 'revoked' GROUP BY 1, 3 UNION ALL SELECT "tenant", 'revoked', coalesce("revoked_at", "created_at") / 86400000, count(*) FROM "added" WHERE "kind" = 'leaf' AND "status" = 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
DELETE FROM "tenant_counts" WHERE "kind" = 'living';--> statement-breakpoint
INSERT INTO "tenant_counts" SELECT "tenant", 'living', "not_after" / 3600000, count(*) FROM "certificates" WHERE "kind" = 'leaf' AND "status" <> 'revoked' GROUP BY 1, 3;--> statement-breakpoint
-- What is gone by now stays counted, so no day loses any.
INSERT INTO "tenant_counts" SELECT "tenant", 'revoked', coalesce("revoked_at", "created_at") / 86400000, count(*) FROM "certificates" WHERE "kind" = 'leaf' AND "status" = 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = greatest("tenant_counts"."number", excluded."number");
