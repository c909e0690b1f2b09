CREATE TABLE "bulk_items" (
	"operation" text NOT NULL,
	"position" bigint NOT NULL,
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	CONSTRAINT "bulk_items_operation_position_pk" PRIMARY KEY("operation","position")
);
--> statement-breakpoint
CREATE TABLE "bulk_operations" (
	"id" text PRIMARY KEY NOT NULL,
	"lineage" text NOT NULL,
	"digest" text NOT NULL,
	"requested_by" text NOT NULL,
	"created_at" bigint NOT NULL
);
