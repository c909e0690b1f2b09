CREATE TABLE "blocked_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"spki_sha256" text NOT NULL,
	"reason" text NOT NULL,
	"search" text NOT NULL,
	"source" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "own_keys" (
	"spki_sha256" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "blocked_keys_key" ON "blocked_keys" USING btree ("spki_sha256");--> statement-breakpoint
CREATE INDEX "blocked_keys_paging" ON "blocked_keys" USING btree ("created_at","id");