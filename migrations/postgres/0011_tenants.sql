CREATE TABLE "grants" (
	"id" text PRIMARY KEY NOT NULL,
	"ca_id" text NOT NULL,
	"lineage" text NOT NULL,
	"tenant" text NOT NULL,
	"entity_type" text NOT NULL,
	"entity_id" text NOT NULL,
	"role" text NOT NULL,
	"scope" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tenant_counts" (
	"tenant" text NOT NULL,
	"kind" text NOT NULL,
	"slot" bigint NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "tenant_counts_tenant_kind_slot_pk" PRIMARY KEY("tenant","kind","slot")
);
--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "kek_label" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_certs_per_day" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "max_active_certs" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "rate_limit_per_second" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "rate_limit_burst" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "grants_identity" ON "grants" USING btree ("ca_id","entity_type","entity_id","role","scope");--> statement-breakpoint
CREATE INDEX "grants_entity" ON "grants" USING btree ("entity_id","entity_type");--> statement-breakpoint
CREATE INDEX "cas_tenant" ON "cas" USING btree ("tenant");--> statement-breakpoint
CREATE INDEX "tenants_paging" ON "tenants" USING btree ("created_at","id");--> statement-breakpoint
CREATE FUNCTION "tenant_counts_added"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT "tenant", 'issued', "created_at" / 86400000, count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 3 UNION ALL SELECT "tenant", 'living', "not_after" / 3600000, count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "tenant_counts_changed"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT n."tenant", 'revoked', n."revoked_at" / 86400000, count(*) FROM "after" n JOIN "before" o USING ("ordinal") WHERE n."kind" = 'leaf' AND n."status" = 'revoked' AND o."status" <> 'revoked' GROUP BY 1, 3 UNION ALL SELECT n."tenant", 'living', n."not_after" / 3600000, -count(*) FROM "after" n JOIN "before" o USING ("ordinal") WHERE n."kind" = 'leaf' AND n."status" = 'revoked' AND o."status" <> 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "tenant_counts_removed"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT "tenant", 'living', "not_after" / 3600000, -count(*) FROM "gone" WHERE "kind" = 'leaf' AND "status" <> 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "tenant_counts_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_added"();--> statement-breakpoint
CREATE TRIGGER "tenant_counts_changed" AFTER UPDATE ON "certificates" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_changed"();--> statement-breakpoint
CREATE TRIGGER "tenant_counts_removed" AFTER DELETE ON "certificates" REFERENCING OLD TABLE AS "gone" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_removed"();--> statement-breakpoint
INSERT INTO "tenant_counts" SELECT "tenant", 'issued', "created_at" / 86400000, count(*) FROM "certificates" WHERE "kind" = 'leaf' GROUP BY 1, 3;--> statement-breakpoint
INSERT INTO "tenant_counts" SELECT "tenant", 'living', "not_after" / 3600000, count(*) FROM "certificates" WHERE "kind" = 'leaf' AND "status" <> 'revoked' GROUP BY 1, 3;--> statement-breakpoint
INSERT INTO "tenant_counts" SELECT "tenant", 'revoked', "revoked_at" / 86400000, count(*) FROM "certificates" WHERE "kind" = 'leaf' AND "status" = 'revoked' GROUP BY 1, 3;
