ALTER TABLE "kek_versions" ADD COLUMN "device_serial" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "kek_versions" ADD COLUMN "spki_sha256" text;