ALTER TABLE "crl_heads" ADD COLUMN "published_at" bigint;--> statement-breakpoint
ALTER TABLE "crl_reservations" ADD COLUMN "reserved_at" bigint;