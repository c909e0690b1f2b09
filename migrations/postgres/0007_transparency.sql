CREATE TABLE "ct_inclusions" (
	"id" text PRIMARY KEY NOT NULL,
	"ca_id" text NOT NULL,
	"tenant" text NOT NULL,
	"serial" text NOT NULL,
	"log_id" text NOT NULL,
	"log_name" text NOT NULL,
	"sct_timestamp" bigint NOT NULL,
	"leaf_hash" text NOT NULL,
	"promised_index" bigint,
	"status" text NOT NULL,
	"due_at" bigint NOT NULL,
	"tree_size" bigint,
	"leaf_index" bigint,
	"checks" bigint NOT NULL,
	"last_error" text NOT NULL,
	"first_checked_at" bigint,
	"last_checked_at" bigint,
	"included_at" bigint,
	"alerted" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ct_log_heads" (
	"log_id" text PRIMARY KEY NOT NULL,
	"tree_size" bigint NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"timestamp" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "precertificates" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"certificate" "bytea" NOT NULL,
	"created_at" bigint NOT NULL,
	"unsettled" boolean NOT NULL,
	CONSTRAINT "precertificates_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "ct" text;--> statement-breakpoint
CREATE INDEX "ct_inclusions_paging" ON "ct_inclusions" USING btree ("sct_timestamp","id");--> statement-breakpoint
CREATE INDEX "ct_inclusions_certificate" ON "ct_inclusions" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "ct_inclusions_status" ON "ct_inclusions" USING btree ("status","due_at");--> statement-breakpoint
CREATE INDEX "precertificates_unsettled" ON "precertificates" USING btree ("created_at") WHERE unsettled;