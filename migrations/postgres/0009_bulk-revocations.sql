CREATE TABLE "bulk_runs" (
	"number" bigserial PRIMARY KEY NOT NULL,
	"id" text NOT NULL,
	"ca_id" text NOT NULL,
	"reason" text NOT NULL,
	"digest" text NOT NULL,
	"filter" text NOT NULL,
	"batch_size" bigint NOT NULL,
	"started_at" bigint NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text NOT NULL,
	"actor_roles" text NOT NULL,
	"ip" text NOT NULL,
	"request_id" text NOT NULL,
	"state" text NOT NULL,
	"owner" bigint NOT NULL,
	"planned" bigint NOT NULL,
	"revoked" bigint NOT NULL,
	"upgraded" bigint NOT NULL,
	"skipped" bigint NOT NULL,
	"batches" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bulk_serials" (
	"run" bigint NOT NULL,
	"place" text NOT NULL,
	CONSTRAINT "bulk_serials_run_place_pk" PRIMARY KEY("run","place")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_runs_id" ON "bulk_runs" USING btree ("id");--> statement-breakpoint
CREATE INDEX "bulk_runs_state" ON "bulk_runs" USING btree ("state");