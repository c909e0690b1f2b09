CREATE FUNCTION "certificate_trigrams"(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT array(SELECT DISTINCT substr($1, at, 3) FROM generate_series(1, char_length($1) - 2) AS at) $$;--> statement-breakpoint
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
CREATE TABLE "approval_decisions" (
	"id" text PRIMARY KEY NOT NULL,
	"approval" text NOT NULL,
	"approver" text NOT NULL,
	"approver_name" text NOT NULL,
	"person_subject" text DEFAULT '' NOT NULL,
	"person_voucher" text DEFAULT 'unknown' NOT NULL,
	"person_issuer" text DEFAULT '' NOT NULL,
	"person_address" text DEFAULT '' NOT NULL,
	"decision" text NOT NULL,
	"comment" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "approval_effects" (
	"approval" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "approvals" (
	"id" text PRIMARY KEY NOT NULL,
	"tenant" text,
	"operation_class" text NOT NULL,
	"operation" text NOT NULL,
	"resource_key" text NOT NULL,
	"resource_name" text NOT NULL,
	"fingerprint" text NOT NULL,
	"summary" text NOT NULL,
	"details" text NOT NULL,
	"input" text NOT NULL,
	"maker" text NOT NULL,
	"maker_subject" text NOT NULL,
	"maker_voucher" text DEFAULT 'unknown' NOT NULL,
	"maker_issuer" text DEFAULT '' NOT NULL,
	"maker_address" text NOT NULL,
	"ip" text NOT NULL,
	"request_id" text NOT NULL,
	"required" bigint NOT NULL,
	"status" text NOT NULL,
	"attempts" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"decided_at" bigint,
	"executed_at" bigint,
	"collected_at" bigint,
	"failure" text,
	"effect" text,
	"answer" text,
	"secret" text NOT NULL,
	"owner" bigint NOT NULL,
	"open_key" text
);
--> statement-breakpoint
CREATE TABLE "blocked_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"spki_sha256" text NOT NULL,
	"tenant" text DEFAULT '' NOT NULL,
	"reason" text NOT NULL,
	"search" text NOT NULL,
	"source" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bulk_items" (
	"lineage" text NOT NULL,
	"operation" text NOT NULL,
	"position" bigint NOT NULL,
	"ca_id" text NOT NULL,
	"serial" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bulk_operations" (
	"lineage" text NOT NULL,
	"id" text NOT NULL,
	"digest" text NOT NULL,
	"requested_by" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bulk_runs" (
	"number" bigserial PRIMARY KEY NOT NULL,
	"lineage" text DEFAULT '' NOT NULL,
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
	"approval" text DEFAULT '' NOT NULL,
	"maker" text DEFAULT '' NOT NULL,
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
	"alt_key_provider" text,
	"alt_key_label" text,
	"alt_key_id" text,
	"alt_key_type" text,
	"alt_spki" "bytea",
	"certificate" "bytea",
	"serial" text,
	"subject" text NOT NULL,
	"not_before" bigint,
	"not_after" bigint,
	"max_path_length" bigint,
	"csr" "bytea",
	"external_chain" text,
	"successor" text,
	"predecessor" text,
	"retire_after" bigint,
	"created_at" bigint NOT NULL,
	"internal" boolean NOT NULL,
	"search" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "certificate_counts" (
	"ca_id" text NOT NULL,
	"status" text NOT NULL,
	"day" bigint NOT NULL,
	"profile" text NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "certificate_counts_ca_id_status_day_profile_pk" PRIMARY KEY("ca_id","status","day","profile")
);
--> statement-breakpoint
CREATE TABLE "certificates" (
	"ordinal" bigserial PRIMARY KEY NOT NULL,
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
	"identity" text DEFAULT '' NOT NULL,
	"ct" text,
	"crl_partition" bigint,
	"crl_url" text
);
--> statement-breakpoint
CREATE TABLE "crl_heads" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"kind" text NOT NULL,
	"number" bigint NOT NULL,
	"base" bigint,
	"this_update" bigint NOT NULL,
	"next_update" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	"entries" bigint NOT NULL,
	"size" bigint NOT NULL,
	"sha256" text NOT NULL,
	"modulus" bigint NOT NULL,
	"urls" text NOT NULL,
	"prior_update" bigint,
	"prior_sequence" bigint,
	"published_at" bigint,
	CONSTRAINT "crl_heads_ca_id_scope_kind_number_pk" PRIMARY KEY("ca_id","scope","kind","number")
);
--> statement-breakpoint
CREATE TABLE "crl_indexes" (
	"ca_id" text NOT NULL,
	"modulus" bigint NOT NULL,
	"sequence" bigint NOT NULL,
	CONSTRAINT "crl_indexes_ca_id_modulus_pk" PRIMARY KEY("ca_id","modulus")
);
--> statement-breakpoint
CREATE TABLE "crl_members" (
	"ca_id" text NOT NULL,
	"partition" bigint NOT NULL,
	"serial" text NOT NULL,
	"modulus" bigint NOT NULL,
	CONSTRAINT "crl_members_ca_id_partition_serial_modulus_pk" PRIMARY KEY("ca_id","partition","serial","modulus")
);
--> statement-breakpoint
CREATE TABLE "crl_pieces" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"number" bigint NOT NULL,
	"position" bigint NOT NULL,
	"octets" "bytea" NOT NULL,
	CONSTRAINT "crl_pieces_ca_id_scope_number_position_pk" PRIMARY KEY("ca_id","scope","number","position")
);
--> statement-breakpoint
CREATE TABLE "crl_reservations" (
	"ca_id" text NOT NULL,
	"scope" text NOT NULL,
	"number" bigint NOT NULL,
	"this_update" bigint NOT NULL,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"reserved_at" bigint,
	CONSTRAINT "crl_reservations_ca_id_scope_pk" PRIMARY KEY("ca_id","scope")
);
--> statement-breakpoint
CREATE TABLE "crl_stamps" (
	"ca_id" text NOT NULL,
	"partition" bigint NOT NULL,
	"url" text NOT NULL,
	"not_after" bigint NOT NULL,
	CONSTRAINT "crl_stamps_ca_id_partition_url_pk" PRIMARY KEY("ca_id","partition","url")
);
--> statement-breakpoint
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
CREATE TABLE "grants" (
	"id" text PRIMARY KEY NOT NULL,
	"ca_id" text NOT NULL,
	"lineage" text NOT NULL,
	"tenant" text NOT NULL,
	"entity_type" text NOT NULL,
	"entity_id" text NOT NULL,
	"role" text NOT NULL,
	"scope" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL
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
CREATE TABLE "ct_inclusions" (
	"id" text PRIMARY KEY NOT NULL,
	"ca_id" text NOT NULL,
	"tenant" text NOT NULL,
	"serial" text NOT NULL,
	"log_id" text NOT NULL,
	"log_name" text NOT NULL,
	"sct_timestamp" bigint NOT NULL,
	"leaf_hash" text NOT NULL,
	"promised_index" bigint,
	"status" text NOT NULL,
	"due_at" bigint NOT NULL,
	"tree_size" bigint,
	"leaf_index" bigint,
	"checks" bigint NOT NULL,
	"last_error" text NOT NULL,
	"first_checked_at" bigint,
	"last_checked_at" bigint,
	"included_at" bigint,
	"alerted" boolean NOT NULL
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
CREATE TABLE "kek_versions" (
	"version" bigint PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"family" text NOT NULL,
	"key_provider" text NOT NULL,
	"key_label" text NOT NULL,
	"key_id" text NOT NULL,
	"device_serial" text DEFAULT '' NOT NULL,
	"spki_sha256" text,
	"created_at" bigint NOT NULL
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
CREATE TABLE "ct_log_heads" (
	"log_id" text PRIMARY KEY NOT NULL,
	"tree_size" bigint NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"timestamp" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "open_intents" (
	"number" bigint PRIMARY KEY NOT NULL,
	"op_id" text NOT NULL,
	"owner" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "own_keys" (
	"spki_sha256" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "passkeys" (
	"id" text PRIMARY KEY NOT NULL,
	"subject" text NOT NULL,
	"voucher" text DEFAULT 'unknown' NOT NULL,
	"issuer" text DEFAULT '' NOT NULL,
	"name" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sign_count" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"last_used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "precertificates" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"certificate" "bytea" NOT NULL,
	"created_at" bigint NOT NULL,
	"unsettled" boolean NOT NULL,
	CONSTRAINT "precertificates_ca_id_serial_pk" PRIMARY KEY("ca_id","serial")
);
--> statement-breakpoint
CREATE TABLE "presigned" (
	"ca_id" text NOT NULL,
	"serial" text NOT NULL,
	"hash" text NOT NULL,
	"response" "bytea" NOT NULL,
	"responder" text,
	"produced_at" bigint NOT NULL,
	"this_update" bigint NOT NULL,
	"next_update" bigint NOT NULL,
	"revoked_at" bigint,
	"reason" text,
	CONSTRAINT "presigned_ca_id_serial_hash_pk" PRIMARY KEY("ca_id","serial","hash")
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
CREATE TABLE "revocation_counts" (
	"ca_id" text PRIMARY KEY NOT NULL,
	"number" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "revocation_releases" (
	"ca_id" text NOT NULL,
	"sequence" bigint NOT NULL,
	"serial" text NOT NULL,
	"since" bigint NOT NULL,
	"revoked_at" bigint NOT NULL,
	"expires_at" bigint,
	CONSTRAINT "revocation_releases_ca_id_sequence_pk" PRIMARY KEY("ca_id","sequence")
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
CREATE TABLE "sealed_values" (
	"place" text PRIMARY KEY NOT NULL,
	"kek_version" bigint NOT NULL,
	"envelope" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tenant_counts" (
	"tenant" text NOT NULL,
	"kind" text NOT NULL,
	"slot" bigint NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "tenant_counts_tenant_kind_slot_pk" PRIMARY KEY("tenant","kind","slot")
);
--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" text PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"status" text NOT NULL,
	"created_at" bigint NOT NULL,
	"kek_label" text DEFAULT '' NOT NULL,
	"max_certs_per_day" bigint DEFAULT 0 NOT NULL,
	"max_active_certs" bigint DEFAULT 0 NOT NULL,
	"rate_limit_per_second" bigint DEFAULT 0 NOT NULL,
	"rate_limit_burst" bigint DEFAULT 0 NOT NULL
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
	"person_subject" text DEFAULT '' NOT NULL,
	"person_voucher" text DEFAULT 'unknown' NOT NULL,
	"person_issuer" text DEFAULT '' NOT NULL,
	"person_address" text DEFAULT '' NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"last_used_at" bigint,
	"last_used_ip" text NOT NULL,
	"revoked_at" bigint,
	"revoked_by" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "access_log_time" ON "access_log" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "approval_decisions_person" ON "approval_decisions" USING btree ("approval","person_voucher","person_issuer","person_subject");--> statement-breakpoint
CREATE UNIQUE INDEX "approvals_open" ON "approvals" USING btree ("open_key","maker_voucher","maker_issuer","maker_subject");--> statement-breakpoint
CREATE INDEX "approvals_paging" ON "approvals" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "approvals_fingerprint" ON "approvals" USING btree ("fingerprint");--> statement-breakpoint
CREATE INDEX "approvals_status" ON "approvals" USING btree ("status","expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "blocked_keys_key" ON "blocked_keys" USING btree ("spki_sha256","tenant");--> statement-breakpoint
CREATE INDEX "blocked_keys_paging" ON "blocked_keys" USING btree ("created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_items_position" ON "bulk_items" USING btree ("lineage","operation","position");--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_operations_id" ON "bulk_operations" USING btree ("lineage","id");--> statement-breakpoint
CREATE UNIQUE INDEX "bulk_runs_id" ON "bulk_runs" USING btree ("lineage","id");--> statement-breakpoint
CREATE INDEX "bulk_runs_state" ON "bulk_runs" USING btree ("state");--> statement-breakpoint
CREATE UNIQUE INDEX "cas_label" ON "cas" USING btree ("label");--> statement-breakpoint
CREATE INDEX "cas_paging" ON "cas" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "cas_lineage" ON "cas" USING btree ("lineage");--> statement-breakpoint
CREATE INDEX "cas_parent" ON "cas" USING btree ("parent","serial");--> statement-breakpoint
CREATE INDEX "cas_tenant" ON "cas" USING btree ("tenant");--> statement-breakpoint
CREATE INDEX "certificates_identity" ON "certificates" USING btree ("identity","not_after");--> statement-breakpoint
CREATE UNIQUE INDEX "certificates_serial" ON "certificates" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "certificates_paging" ON "certificates" USING btree ("ca_id","kind","ordinal");--> statement-breakpoint
CREATE INDEX "certificates_profile" ON "certificates" USING btree ("profile","ca_id","kind","ordinal");--> statement-breakpoint
CREATE INDEX "certificates_key" ON "certificates" USING btree ("spki_sha256","ca_id","kind","ordinal");--> statement-breakpoint
CREATE INDEX "certificates_expiry" ON "certificates" USING btree ("ca_id","kind","status","not_after");--> statement-breakpoint
CREATE UNIQUE INDEX "cross_signs_serial" ON "cross_signs" USING btree ("issuer","serial");--> statement-breakpoint
CREATE INDEX "cross_signs_paging" ON "cross_signs" USING btree ("issuer","created_at","id");--> statement-breakpoint
CREATE INDEX "cross_signs_subject" ON "cross_signs" USING btree ("subject_ca","created_at","id");--> statement-breakpoint
CREATE INDEX "events_action" ON "events" USING btree ("action");--> statement-breakpoint
CREATE INDEX "events_actor" ON "events" USING btree ("actor");--> statement-breakpoint
CREATE INDEX "events_certificate" ON "events" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "events_time" ON "events" USING btree ("at");--> statement-breakpoint
CREATE UNIQUE INDEX "grants_identity" ON "grants" USING btree ("ca_id","entity_type","entity_id","role","scope");--> statement-breakpoint
CREATE INDEX "grants_entity" ON "grants" USING btree ("entity_id","entity_type");--> statement-breakpoint
CREATE INDEX "ct_inclusions_paging" ON "ct_inclusions" USING btree ("sct_timestamp","id");--> statement-breakpoint
CREATE INDEX "ct_inclusions_certificate" ON "ct_inclusions" USING btree ("ca_id","serial");--> statement-breakpoint
CREATE INDEX "ct_inclusions_status" ON "ct_inclusions" USING btree ("status","due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "intents_intended" ON "intents" USING btree ("op_id") WHERE state = 'intended';--> statement-breakpoint
CREATE INDEX "intents_orphaned" ON "intents" USING btree ("ca_id","created_at") WHERE state = 'orphaned';--> statement-breakpoint
CREATE UNIQUE INDEX "kek_versions_active" ON "kek_versions" USING btree ("status") WHERE status = 'active';--> statement-breakpoint
CREATE INDEX "passkeys_subject" ON "passkeys" USING btree ("subject","created_at","id");--> statement-breakpoint
CREATE INDEX "precertificates_unsettled" ON "precertificates" USING btree ("created_at") WHERE unsettled;--> statement-breakpoint
CREATE INDEX "presigned_expiry" ON "presigned" USING btree ("next_update");--> statement-breakpoint
CREATE INDEX "revocations_sequence" ON "revocations" USING btree ("ca_id","sequence");--> statement-breakpoint
CREATE INDEX "revocations_listing" ON "revocations" USING btree ("ca_id","serial","revoked_at","reason","expires_at","sequence");--> statement-breakpoint
CREATE INDEX "sealed_values_version" ON "sealed_values" USING btree ("kek_version","place");--> statement-breakpoint
CREATE UNIQUE INDEX "tenants_slug" ON "tenants" USING btree ("slug");--> statement-breakpoint
CREATE INDEX "tenants_paging" ON "tenants" USING btree ("created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "api_tokens_hash" ON "api_tokens" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "api_tokens_paging" ON "api_tokens" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "certificates_search" ON "certificates" USING gin ("certificate_trigrams"("search"));--> statement-breakpoint
CREATE FUNCTION "count_certificates"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "not_after" / 86400000, "profile", count(*) FROM added WHERE "kind" = 'leaf' GROUP BY 1, 2, 3, 4
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "not_after" / 86400000, "profile", -count(*) FROM removed WHERE "kind" = 'leaf' GROUP BY 1, 2, 3, 4
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSE
		INSERT INTO "certificate_counts" AS c SELECT "ca_id", "status", "day", "profile", sum("n") FROM (
			SELECT "ca_id", "status", "not_after" / 86400000 AS "day", "profile", 1 AS "n" FROM added WHERE "kind" = 'leaf'
			UNION ALL SELECT "ca_id", "status", "not_after" / 86400000, "profile", -1 FROM removed WHERE "kind" = 'leaf'
		) AS changed GROUP BY 1, 2, 3, 4 HAVING sum("n") <> 0
		ON CONFLICT ("ca_id", "status", "day", "profile") DO UPDATE SET "number" = c."number" + excluded."number";
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "certificates_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
CREATE TRIGGER "certificates_changed" AFTER UPDATE ON "certificates" REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
CREATE TRIGGER "certificates_removed" AFTER DELETE ON "certificates" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_certificates"();--> statement-breakpoint
CREATE FUNCTION "count_revocations"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO "revocation_counts" AS c SELECT "ca_id", count(*) FROM added GROUP BY 1
		ON CONFLICT ("ca_id") DO UPDATE SET "number" = c."number" + excluded."number";
	ELSE
		INSERT INTO "revocation_counts" AS c SELECT "ca_id", -count(*) FROM removed GROUP BY 1
		ON CONFLICT ("ca_id") DO UPDATE SET "number" = c."number" + excluded."number";
	END IF;
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "revocations_added" AFTER INSERT ON "revocations" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_revocations"();--> statement-breakpoint
CREATE TRIGGER "revocations_removed" AFTER DELETE ON "revocations" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_revocations"();--> statement-breakpoint
CREATE FUNCTION "tenant_counts_added"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT "tenant", 'issued', "created_at" / 86400000, count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 3 UNION ALL SELECT "tenant", 'living', "not_after" / 3600000, count(*) FROM "added" WHERE "kind" = 'leaf' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "tenant_counts_changed"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT n."tenant", 'revoked', n."revoked_at" / 86400000, count(*) FROM "after" n JOIN "before" o USING ("ordinal") WHERE n."kind" = 'leaf' AND n."status" = 'revoked' AND o."status" <> 'revoked' GROUP BY 1, 3 UNION ALL SELECT n."tenant", 'living', n."not_after" / 3600000, -count(*) FROM "after" n JOIN "before" o USING ("ordinal") WHERE n."kind" = 'leaf' AND n."status" = 'revoked' AND o."status" <> 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "tenant_counts_removed"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO "tenant_counts" SELECT "tenant", 'living', "not_after" / 3600000, -count(*) FROM "gone" WHERE "kind" = 'leaf' AND "status" <> 'revoked' GROUP BY 1, 3 ON CONFLICT ("tenant", "kind", "slot") DO UPDATE SET "number" = "tenant_counts"."number" + excluded."number";
	RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "tenant_counts_added" AFTER INSERT ON "certificates" REFERENCING NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_added"();--> statement-breakpoint
CREATE TRIGGER "tenant_counts_changed" AFTER UPDATE ON "certificates" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_changed"();--> statement-breakpoint
CREATE TRIGGER "tenant_counts_removed" AFTER DELETE ON "certificates" REFERENCING OLD TABLE AS "gone" FOR EACH STATEMENT EXECUTE FUNCTION "tenant_counts_removed"();
