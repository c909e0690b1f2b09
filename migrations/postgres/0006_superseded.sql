ALTER TABLE "certificates" ADD COLUMN "identity" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "certificates_identity" ON "certificates" USING btree ("identity","not_after");