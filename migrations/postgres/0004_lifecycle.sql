CREATE TABLE "cross_signs" (
	"id" text PRIMARY KEY NOT NULL,
	"issuer" text NOT NULL,
	"serial" text NOT NULL,
	"subject_ca" text,
	"subject_key_id" text NOT NULL,
	"source" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "csr" "bytea";--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "external_chain" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "successor" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "predecessor" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "retire_after" bigint;--> statement-breakpoint
CREATE UNIQUE INDEX "cross_signs_serial" ON "cross_signs" USING btree ("issuer","serial");--> statement-breakpoint
CREATE INDEX "cross_signs_paging" ON "cross_signs" USING btree ("issuer","created_at","id");--> statement-breakpoint
CREATE INDEX "cross_signs_subject" ON "cross_signs" USING btree ("subject_ca","created_at","id");