ALTER TABLE "cas" ADD COLUMN "alt_key_provider" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "alt_key_label" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "alt_key_id" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "alt_key_type" text;--> statement-breakpoint
ALTER TABLE "cas" ADD COLUMN "alt_spki" "bytea";