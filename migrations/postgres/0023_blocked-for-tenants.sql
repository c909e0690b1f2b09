DROP INDEX "blocked_keys_key";--> statement-breakpoint
ALTER TABLE "blocked_keys" ADD COLUMN "tenant" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "blocked_keys_key" ON "blocked_keys" USING btree ("spki_sha256","tenant");