DROP INDEX "bulk_runs_id";--> statement-breakpoint
ALTER TABLE "bulk_items" DROP CONSTRAINT "bulk_items_operation_position_pk";--> statement-breakpoint
ALTER TABLE "bulk_operations" DROP CONSTRAINT "bulk_operations_pkey";--> statement-breakpoint
ALTER TABLE "bulk_items" ADD COLUMN "lineage" text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE "bulk_items" SET "lineage" = o.lineage FROM "bulk_operations" o WHERE o.id = operation;--> statement-breakpoint
ALTER TABLE "bulk_items" ALTER COLUMN "lineage" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "bulk_runs" ADD COLUMN "lineage" text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE "bulk_runs" SET "lineage" = coalesce((SELECT c.lineage FROM "cas" c WHERE c.id = ca_id), ca_id);--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_items_position" ON "bulk_items" USING btree ("lineage","operation","position");--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_operations_id" ON "bulk_operations" USING btree ("lineage","id");--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_runs_id" ON "bulk_runs" USING btree ("lineage","id");
--> statement-breakpoint
DROP INDEX "blocked_keys_key";--> statement-breakpoint
ALTER TABLE "blocked_keys" ADD COLUMN "tenant" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "blocked_keys_key" ON "blocked_keys" USING btree ("spki_sha256","tenant");