DROP INDEX "certificates_paging";--> statement-breakpoint
DROP INDEX "certificates_profile";--> statement-breakpoint
DROP INDEX "certificates_expiry";--> statement-breakpoint
DROP INDEX "certificates_key";--> statement-breakpoint
ALTER TABLE "certificates" DROP CONSTRAINT "certificates_ca_id_serial_pk";--> statement-breakpoint
ALTER TABLE "certificates" ADD COLUMN "ordinal" bigserial PRIMARY KEY NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "certificates_serial" ON "certificates" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "certificates_paging" ON "certificates" USING btree ("ca_id","kind","ordinal");--> statement-breakpoint
CREATE INDEX "certificates_profile" ON "certificates" USING btree ("profile","ca_id","kind","ordinal");--> statement-breakpoint
CREATE INDEX "certificates_expiry" ON "certificates" USING btree ("ca_id","kind","status","not_after");--> statement-breakpoint
CREATE INDEX "certificates_key" ON "certificates" USING btree ("spki_sha256","ca_id","kind","ordinal");--> statement-breakpoint
CREATE FUNCTION "certificate_trigrams"(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT array(SELECT DISTINCT substr($1, at, 3) FROM generate_series(1, char_length($1) - 2) AS at) $$;--> statement-breakpoint
CREATE INDEX "certificates_search" ON "certificates" USING gin ("certificate_trigrams"("search"));
