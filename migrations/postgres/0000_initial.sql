CREATE TABLE "access_log" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"at" bigint NOT NULL,
	"request_id" text NOT NULL,
	"subject" text NOT NULL,
	"method" text NOT NULL,
	"route" text NOT NULL,
	"path" text NOT NULL,
	"status" bigint NOT NULL,
	"duration_ms" bigint NOT NULL,
	"bytes_out" bigint NOT NULL,
	"ip" text NOT NULL,
	"user_agent" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "cas" (
	"id" text PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"label" text NOT NULL,
	"parent" text,
	"lineage" text NOT NULL,
	"status" text NOT NULL,
	"key_provider" text NOT NULL,
	"key_label" text NOT NULL,
	"key_id" text NOT NULL,
	"key_type" text NOT NULL,
	"spki" "bytea" NOT NULL,
	"certificate" "bytea",
	"serial" text,
	"subject" text NOT NULL,
	"not_before" bigint,
	"not_after" bigint,
	"max_path_length" bigint,
	"created_at" bigint NOT NULL,
	"internal" boolean NOT NULL,
	"search" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "certificates" (
	"id" text NOT NULL,
	"ca_id" text NOT NULL,
	"tenant" text NOT NULL,
	"serial" text NOT NULL,
	"serial_hex" text NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"common_name" text NOT NULL,
	"sans" text NOT NULL,
	"search" text NOT NULL,
	"profile" text NOT NULL,
	"certificate" "bytea" NOT NULL,
	"not_before" bigint NOT NULL,
	"not_after" bigint NOT NULL,
	"status" text NOT NULL,
	"revoked_at" bigint,
	"reason" text,
	"requested_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"spki_sha256" text NOT NULL,
	"marker" text NOT NULL,
	CONSTRAINT "certificates_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
CREATE TABLE "crl_reservations" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"number" bigint NOT NULL,
	"this_update" bigint NOT NULL,
	CONSTRAINT "crl_reservations_ca_id_scope_pk" PRIMARY KEY("ca_id","scope")
);
--> statement-breakpoint
CREATE TABLE "crls" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"number" bigint NOT NULL,
	"this_update" bigint NOT NULL,
	"next_update" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	"entries" bigint NOT NULL,
	"der" "bytea" NOT NULL,
	"sha256" text NOT NULL,
	CONSTRAINT "crls_ca_id_scope_number_pk" PRIMARY KEY("ca_id","scope","number")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"id" text NOT NULL,
	"timestamp" text NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text NOT NULL,
	"actor_roles" text NOT NULL,
	"action" text NOT NULL,
	"result" text NOT NULL,
	"tenant" text NOT NULL,
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"target" text NOT NULL,
	"target_name" text NOT NULL,
	"detail" text NOT NULL,
	"ip" text NOT NULL,
	"request_id" text NOT NULL,
	"prev_hash" text NOT NULL,
	"hash" text NOT NULL,
	"at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "heads" (
	"id" bigint PRIMARY KEY NOT NULL,
	"event_seq" bigint NOT NULL,
	"event_hash" text NOT NULL,
	"ledger_number" bigint NOT NULL,
	"ledger_hash" text NOT NULL,
	"revocation_sequence" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "instance" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "intents" (
	"op_id" text NOT NULL,
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"purpose" text NOT NULL,
	"tbs_digest" text NOT NULL,
	"requested_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"state" text NOT NULL,
	"owner" bigint NOT NULL,
	CONSTRAINT "intents_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
CREATE TABLE "ledger" (
	"number" bigint PRIMARY KEY NOT NULL,
	"timestamp" text NOT NULL,
	"kind" text NOT NULL,
	"op_id" text NOT NULL,
	"provider" text NOT NULL,
	"device_serial" text NOT NULL,
	"key_label" text NOT NULL,
	"signer_fingerprint" text NOT NULL,
	"role" text NOT NULL,
	"operation" text NOT NULL,
	"algorithm" text NOT NULL,
	"digest" text NOT NULL,
	"purpose" text NOT NULL,
	"ca_id" text NOT NULL,
	"artifact" text NOT NULL,
	"result" text NOT NULL,
	"signature_sha256" text NOT NULL,
	"error" text NOT NULL,
	"count" text NOT NULL,
	"total" text NOT NULL,
	"prev_hash" text NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "open_intents" (
	"number" bigint PRIMARY KEY NOT NULL,
	"op_id" text NOT NULL,
	"owner" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "responders" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"key_label" text NOT NULL,
	"key_id" text NOT NULL,
	"key_provider" text NOT NULL,
	"certificate" "bytea" NOT NULL,
	"not_before" bigint NOT NULL,
	"not_after" bigint NOT NULL,
	CONSTRAINT "responders_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
CREATE TABLE "revocation_changes" (
	"ca_id" text PRIMARY KEY NOT NULL,
	"sequence" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "revocations" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"revoked_at" bigint NOT NULL,
	"reason" text NOT NULL,
	"known" boolean NOT NULL,
	"expires_at" bigint,
	"sequence" bigint NOT NULL,
	CONSTRAINT "revocations_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" text PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"status" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text NOT NULL,
	"prefix" text NOT NULL,
	"token_hash" text NOT NULL,
	"roles" text NOT NULL,
	"scope" text NOT NULL,
	"tenant" text,
	"created_by" text NOT NULL,
	"created_by_name" text NOT NULL,
	"person" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"last_used_at" bigint,
	"last_used_ip" text NOT NULL,
	"revoked_at" bigint,
	"revoked_by" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "access_log_time" ON "access_log" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "cas_label" ON "cas" USING btree ("label");--> statement-breakpoint
CREATE INDEX "cas_paging" ON "cas" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "cas_lineage" ON "cas" USING btree ("lineage");--> statement-breakpoint
CREATE INDEX "cas_parent" ON "cas" USING btree ("parent","serial");--> statement-breakpoint
CREATE INDEX "certificates_paging" ON "certificates" USING btree ("ca_id","kind","created_at","id");--> statement-breakpoint
CREATE INDEX "certificates_profile" ON "certificates" USING btree ("profile","ca_id","kind","created_at","id");--> statement-breakpoint
CREATE INDEX "certificates_expiry" ON "certificates" USING btree ("not_after");--> statement-breakpoint
CREATE INDEX "certificates_key" ON "certificates" USING btree ("spki_sha256","ca_id","kind","created_at","id");--> statement-breakpoint
CREATE INDEX "events_action" ON "events" USING btree ("action");--> statement-breakpoint
CREATE INDEX "events_actor" ON "events" USING btree ("actor");--> statement-breakpoint
CREATE INDEX "events_certificate" ON "events" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "events_time" ON "events" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "intents_intended" ON "intents" USING btree ("op_id") WHERE state = 'intended';--> statement-breakpoint
CREATE INDEX "intents_orphaned" ON "intents" USING btree ("ca_id","created_at") WHERE state = 'orphaned';--> statement-breakpoint
CREATE INDEX "revocations_sequence" ON "revocations" USING btree ("ca_id","sequence");--> statement-breakpoint
CREATE UNIQUE INDEX "tenants_slug" ON "tenants" USING btree ("slug");--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_hash" ON "api_tokens" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "api_tokens_paging" ON "api_tokens" USING btree ("created_at","id");