CREATE TABLE `approval_decisions` (
	`id` text PRIMARY KEY NOT NULL,
	`approval` text NOT NULL,
	`approver` text NOT NULL,
	`approver_name` text NOT NULL,
	`person_subject` text DEFAULT '' NOT NULL,
	`person_voucher` text DEFAULT 'unknown' NOT NULL,
	`person_issuer` text DEFAULT '' NOT NULL,
	`person_address` text DEFAULT '' NOT NULL,
	`decision` text NOT NULL,
	`comment` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `approval_decisions_person` ON `approval_decisions` (`approval`,`person_voucher`,`person_issuer`,`person_subject`);--> statement-breakpoint
CREATE TABLE `approval_effects` (
	`approval` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant` text,
	`operation_class` text NOT NULL,
	`operation` text NOT NULL,
	`resource_key` text NOT NULL,
	`resource_name` text NOT NULL,
	`fingerprint` text NOT NULL,
	`summary` text NOT NULL,
	`details` text NOT NULL,
	`input` text NOT NULL,
	`maker` text NOT NULL,
	`maker_subject` text NOT NULL,
	`maker_voucher` text DEFAULT 'unknown' NOT NULL,
	`maker_issuer` text DEFAULT '' NOT NULL,
	`maker_address` text NOT NULL,
	`ip` text NOT NULL,
	`request_id` text NOT NULL,
	`required` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`decided_at` integer,
	`executed_at` integer,
	`collected_at` integer,
	`failure` text,
	`effect` text,
	`answer` text,
	`secret` text NOT NULL,
	`owner` integer NOT NULL,
	`open_key` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_open` ON `approvals` (`open_key`,`maker_voucher`,`maker_issuer`,`maker_subject`);--> statement-breakpoint
CREATE INDEX `approvals_paging` ON `approvals` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `approvals_fingerprint` ON `approvals` (`fingerprint`);--> statement-breakpoint
CREATE INDEX `approvals_status` ON `approvals` (`status`,`expires_at`);--> statement-breakpoint
CREATE TABLE `blocked_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`spki_sha256` text NOT NULL,
	`tenant` text DEFAULT '' NOT NULL,
	`reason` text NOT NULL,
	`search` text NOT NULL,
	`source` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `blocked_keys_key` ON `blocked_keys` (`spki_sha256`,`tenant`);--> statement-breakpoint
CREATE INDEX `blocked_keys_paging` ON `blocked_keys` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `bulk_items` (
	`lineage` text NOT NULL,
	`operation` text NOT NULL,
	`position` integer NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_items_position` ON `bulk_items` (`lineage`,`operation`,`position`);--> statement-breakpoint
CREATE TABLE `bulk_operations` (
	`lineage` text NOT NULL,
	`id` text NOT NULL,
	`digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_operations_id` ON `bulk_operations` (`lineage`,`id`);--> statement-breakpoint
CREATE TABLE `bulk_runs` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`lineage` text DEFAULT '' NOT NULL,
	`id` text NOT NULL,
	`ca_id` text NOT NULL,
	`reason` text NOT NULL,
	`digest` text NOT NULL,
	`filter` text NOT NULL,
	`batch_size` integer NOT NULL,
	`started_at` integer NOT NULL,
	`actor` text NOT NULL,
	`actor_name` text NOT NULL,
	`actor_roles` text NOT NULL,
	`ip` text NOT NULL,
	`request_id` text NOT NULL,
	`approval` text DEFAULT '' NOT NULL,
	`maker` text DEFAULT '' NOT NULL,
	`state` text NOT NULL,
	`owner` integer NOT NULL,
	`planned` integer NOT NULL,
	`revoked` integer NOT NULL,
	`upgraded` integer NOT NULL,
	`skipped` integer NOT NULL,
	`batches` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_runs_id` ON `bulk_runs` (`lineage`,`id`);--> statement-breakpoint
CREATE INDEX `bulk_runs_state` ON `bulk_runs` (`state`);--> statement-breakpoint
CREATE TABLE `bulk_serials` (
	`run` integer NOT NULL,
	`place` text NOT NULL,
	PRIMARY KEY(`run`, `place`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cas` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant` text NOT NULL,
	`label` text NOT NULL,
	`parent` text,
	`lineage` text NOT NULL,
	`status` text NOT NULL,
	`key_provider` text NOT NULL,
	`key_label` text NOT NULL,
	`key_id` text NOT NULL,
	`key_type` text NOT NULL,
	`spki` blob NOT NULL,
	`alt_key_provider` text,
	`alt_key_label` text,
	`alt_key_id` text,
	`alt_key_type` text,
	`alt_spki` blob,
	`certificate` blob,
	`serial` text,
	`subject` text NOT NULL,
	`not_before` integer,
	`not_after` integer,
	`max_path_length` integer,
	`csr` blob,
	`external_chain` text,
	`successor` text,
	`predecessor` text,
	`retire_after` integer,
	`created_at` integer NOT NULL,
	`internal` integer NOT NULL,
	`search` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `cas_label` ON `cas` (`label`);--> statement-breakpoint
CREATE INDEX `cas_paging` ON `cas` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `cas_lineage` ON `cas` (`lineage`);--> statement-breakpoint
CREATE INDEX `cas_parent` ON `cas` (`parent`,`serial`);--> statement-breakpoint
CREATE INDEX `cas_tenant` ON `cas` (`tenant`);--> statement-breakpoint
CREATE TABLE `certificate_counts` (
	`ca_id` text NOT NULL,
	`status` text NOT NULL,
	`day` integer NOT NULL,
	`profile` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `status`, `day`, `profile`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `certificates` (
	`ordinal` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`ca_id` text NOT NULL,
	`tenant` text NOT NULL,
	`serial` text NOT NULL,
	`serial_hex` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`common_name` text NOT NULL,
	`sans` text NOT NULL,
	`search` text NOT NULL,
	`profile` text NOT NULL,
	`certificate` blob NOT NULL,
	`not_before` integer NOT NULL,
	`not_after` integer NOT NULL,
	`status` text NOT NULL,
	`revoked_at` integer,
	`reason` text,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`spki_sha256` text NOT NULL,
	`marker` text NOT NULL,
	`identity` text DEFAULT '' NOT NULL,
	`ct` text,
	`crl_partition` integer,
	`crl_url` text
);
--> statement-breakpoint
CREATE INDEX `certificates_identity` ON `certificates` (`identity`,`not_after`);--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_serial` ON `certificates` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `certificates_paging` ON `certificates` (`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_profile` ON `certificates` (`profile`,`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_key` ON `certificates` (`spki_sha256`,`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_expiry` ON `certificates` (`ca_id`,`kind`,`status`,`not_after`);--> statement-breakpoint
CREATE TABLE `crl_heads` (
	`ca_id` text NOT NULL,
	`scope` text NOT NULL,
	`kind` text NOT NULL,
	`number` integer NOT NULL,
	`base` integer,
	`this_update` integer NOT NULL,
	`next_update` integer NOT NULL,
	`sequence` integer NOT NULL,
	`entries` integer NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`modulus` integer NOT NULL,
	`urls` text NOT NULL,
	`prior_update` integer,
	`prior_sequence` integer,
	`published_at` integer,
	PRIMARY KEY(`ca_id`, `scope`, `kind`, `number`)
);
--> statement-breakpoint
CREATE TABLE `crl_indexes` (
	`ca_id` text NOT NULL,
	`modulus` integer NOT NULL,
	`sequence` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `modulus`)
);
--> statement-breakpoint
CREATE TABLE `crl_members` (
	`ca_id` text NOT NULL,
	`partition` integer NOT NULL,
	`serial` text NOT NULL,
	`modulus` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `partition`, `serial`, `modulus`)
);
--> statement-breakpoint
CREATE TABLE `crl_pieces` (
	`ca_id` text NOT NULL,
	`scope` text NOT NULL,
	`number` integer NOT NULL,
	`position` integer NOT NULL,
	`octets` blob NOT NULL,
	PRIMARY KEY(`ca_id`, `scope`, `number`, `position`)
);
--> statement-breakpoint
CREATE TABLE `crl_reservations` (
	`ca_id` text NOT NULL,
	`scope` text NOT NULL,
	`number` integer NOT NULL,
	`this_update` integer NOT NULL,
	`sequence` integer DEFAULT 0 NOT NULL,
	`reserved_at` integer,
	PRIMARY KEY(`ca_id`, `scope`)
);
--> statement-breakpoint
CREATE TABLE `crl_stamps` (
	`ca_id` text NOT NULL,
	`partition` integer NOT NULL,
	`url` text NOT NULL,
	`not_after` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `partition`, `url`)
);
--> statement-breakpoint
CREATE TABLE `cross_signs` (
	`id` text PRIMARY KEY NOT NULL,
	`issuer` text NOT NULL,
	`serial` text NOT NULL,
	`subject_ca` text,
	`subject_key_id` text NOT NULL,
	`source` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `cross_signs_serial` ON `cross_signs` (`issuer`,`serial`);--> statement-breakpoint
CREATE INDEX `cross_signs_paging` ON `cross_signs` (`issuer`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `cross_signs_subject` ON `cross_signs` (`subject_ca`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`timestamp` text NOT NULL,
	`actor` text NOT NULL,
	`actor_name` text NOT NULL,
	`actor_roles` text NOT NULL,
	`action` text NOT NULL,
	`result` text NOT NULL,
	`tenant` text NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`target` text NOT NULL,
	`target_name` text NOT NULL,
	`detail` text NOT NULL,
	`ip` text NOT NULL,
	`request_id` text NOT NULL,
	`prev_hash` text NOT NULL,
	`hash` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `events_action` ON `events` (`action`);--> statement-breakpoint
CREATE INDEX `events_actor` ON `events` (`actor`);--> statement-breakpoint
CREATE INDEX `events_certificate` ON `events` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `events_time` ON `events` (`at`);--> statement-breakpoint
CREATE TABLE `grants` (
	`id` text PRIMARY KEY NOT NULL,
	`ca_id` text NOT NULL,
	`lineage` text NOT NULL,
	`tenant` text NOT NULL,
	`entity_type` text NOT NULL,
	`entity_id` text NOT NULL,
	`role` text NOT NULL,
	`scope` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `grants_identity` ON `grants` (`ca_id`,`entity_type`,`entity_id`,`role`,`scope`);--> statement-breakpoint
CREATE INDEX `grants_entity` ON `grants` (`entity_id`,`entity_type`);--> statement-breakpoint
CREATE TABLE `heads` (
	`id` integer PRIMARY KEY NOT NULL,
	`event_seq` integer NOT NULL,
	`event_hash` text NOT NULL,
	`ledger_number` integer NOT NULL,
	`ledger_hash` text NOT NULL,
	`revocation_sequence` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `ct_inclusions` (
	`id` text PRIMARY KEY NOT NULL,
	`ca_id` text NOT NULL,
	`tenant` text NOT NULL,
	`serial` text NOT NULL,
	`log_id` text NOT NULL,
	`log_name` text NOT NULL,
	`sct_timestamp` integer NOT NULL,
	`leaf_hash` text NOT NULL,
	`promised_index` integer,
	`status` text NOT NULL,
	`due_at` integer NOT NULL,
	`tree_size` integer,
	`leaf_index` integer,
	`checks` integer NOT NULL,
	`last_error` text NOT NULL,
	`first_checked_at` integer,
	`last_checked_at` integer,
	`included_at` integer,
	`alerted` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ct_inclusions_paging` ON `ct_inclusions` (`sct_timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `ct_inclusions_certificate` ON `ct_inclusions` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `ct_inclusions_status` ON `ct_inclusions` (`status`,`due_at`);--> statement-breakpoint
CREATE TABLE `instance` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `intents` (
	`op_id` text NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`purpose` text NOT NULL,
	`tbs_digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`state` text NOT NULL,
	`owner` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `intents_intended` ON `intents` (`op_id`) WHERE state = 'intended';--> statement-breakpoint
CREATE INDEX `intents_orphaned` ON `intents` (`ca_id`,`created_at`) WHERE state = 'orphaned';--> statement-breakpoint
CREATE TABLE `kek_versions` (
	`version` integer PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`family` text NOT NULL,
	`key_provider` text NOT NULL,
	`key_label` text NOT NULL,
	`key_id` text NOT NULL,
	`device_serial` text DEFAULT '' NOT NULL,
	`spki_sha256` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `kek_versions_active` ON `kek_versions` (`status`) WHERE status = 'active';--> statement-breakpoint
CREATE TABLE `ledger` (
	`number` integer PRIMARY KEY NOT NULL,
	`timestamp` text NOT NULL,
	`kind` text NOT NULL,
	`op_id` text NOT NULL,
	`provider` text NOT NULL,
	`device_serial` text NOT NULL,
	`key_label` text NOT NULL,
	`signer_fingerprint` text NOT NULL,
	`role` text NOT NULL,
	`operation` text NOT NULL,
	`algorithm` text NOT NULL,
	`digest` text NOT NULL,
	`purpose` text NOT NULL,
	`ca_id` text NOT NULL,
	`artifact` text NOT NULL,
	`result` text NOT NULL,
	`signature_sha256` text NOT NULL,
	`error` text NOT NULL,
	`count` text NOT NULL,
	`total` text NOT NULL,
	`prev_hash` text NOT NULL,
	`hash` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `ct_log_heads` (
	`log_id` text PRIMARY KEY NOT NULL,
	`tree_size` integer NOT NULL,
	`root_hash` blob NOT NULL,
	`timestamp` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `open_intents` (
	`number` integer PRIMARY KEY NOT NULL,
	`op_id` text NOT NULL,
	`owner` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `own_keys` (
	`spki_sha256` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`id` text PRIMARY KEY NOT NULL,
	`subject` text NOT NULL,
	`voucher` text DEFAULT 'unknown' NOT NULL,
	`issuer` text DEFAULT '' NOT NULL,
	`name` text NOT NULL,
	`public_key` blob NOT NULL,
	`sign_count` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer
);
--> statement-breakpoint
CREATE INDEX `passkeys_subject` ON `passkeys` (`subject`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `precertificates` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`certificate` blob NOT NULL,
	`created_at` integer NOT NULL,
	`unsettled` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
CREATE INDEX `precertificates_unsettled` ON `precertificates` (`created_at`) WHERE unsettled;--> statement-breakpoint
CREATE TABLE `presigned` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`hash` text NOT NULL,
	`response` blob NOT NULL,
	`responder` text,
	`produced_at` integer NOT NULL,
	`this_update` integer NOT NULL,
	`next_update` integer NOT NULL,
	`revoked_at` integer,
	`reason` text,
	PRIMARY KEY(`ca_id`, `serial`, `hash`)
);
--> statement-breakpoint
CREATE INDEX `presigned_expiry` ON `presigned` (`next_update`);--> statement-breakpoint
CREATE TABLE `responders` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`key_label` text NOT NULL,
	`key_id` text NOT NULL,
	`key_provider` text NOT NULL,
	`certificate` blob NOT NULL,
	`not_before` integer NOT NULL,
	`not_after` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
CREATE TABLE `revocation_changes` (
	`ca_id` text PRIMARY KEY NOT NULL,
	`sequence` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `revocation_counts` (
	`ca_id` text PRIMARY KEY NOT NULL,
	`number` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `revocation_releases` (
	`ca_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`serial` text NOT NULL,
	`since` integer NOT NULL,
	`revoked_at` integer NOT NULL,
	`expires_at` integer,
	PRIMARY KEY(`ca_id`, `sequence`)
);
--> statement-breakpoint
CREATE TABLE `revocations` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`revoked_at` integer NOT NULL,
	`reason` text NOT NULL,
	`known` integer NOT NULL,
	`expires_at` integer,
	`sequence` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
CREATE INDEX `revocations_sequence` ON `revocations` (`ca_id`,`sequence`);--> statement-breakpoint
CREATE INDEX `revocations_listing` ON `revocations` (`ca_id`,`serial`,`revoked_at`,`reason`,`expires_at`,`sequence`);--> statement-breakpoint
CREATE TABLE `sealed_values` (
	`place` text PRIMARY KEY NOT NULL,
	`kek_version` integer NOT NULL,
	`envelope` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sealed_values_version` ON `sealed_values` (`kek_version`,`place`);--> statement-breakpoint
CREATE TABLE `tenant_counts` (
	`tenant` text NOT NULL,
	`kind` text NOT NULL,
	`slot` integer NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`tenant`, `kind`, `slot`)
);
--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`kek_label` text DEFAULT '' NOT NULL,
	`max_certs_per_day` integer DEFAULT 0 NOT NULL,
	`max_active_certs` integer DEFAULT 0 NOT NULL,
	`rate_limit_per_second` integer DEFAULT 0 NOT NULL,
	`rate_limit_burst` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_slug` ON `tenants` (`slug`);--> statement-breakpoint
CREATE INDEX `tenants_paging` ON `tenants` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `api_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`prefix` text NOT NULL,
	`token_hash` text NOT NULL,
	`roles` text NOT NULL,
	`scope` text NOT NULL,
	`tenant` text,
	`created_by` text NOT NULL,
	`created_by_name` text NOT NULL,
	`person_subject` text DEFAULT '' NOT NULL,
	`person_voucher` text DEFAULT 'unknown' NOT NULL,
	`person_issuer` text DEFAULT '' NOT NULL,
	`person_address` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`last_used_ip` text NOT NULL,
	`revoked_at` integer,
	`revoked_by` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_tokens_hash` ON `api_tokens` (`token_hash`);--> statement-breakpoint
CREATE INDEX `api_tokens_paging` ON `api_tokens` (`created_at`,`id`);--> statement-breakpoint
CREATE VIRTUAL TABLE `certificate_search` USING fts5(`search`, content='certificates', content_rowid='ordinal', tokenize='trigram');--> statement-breakpoint
CREATE TRIGGER `certificates_added` AFTER INSERT ON `certificates` WHEN new.`kind` = 'leaf' BEGIN
	INSERT INTO `certificate_counts` VALUES (new.`ca_id`, new.`status`, new.`not_after` / 86400000, new.`profile`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
	INSERT INTO `certificate_search`(`rowid`, `search`) VALUES (new.`ordinal`, new.`search`);
END;--> statement-breakpoint
CREATE TRIGGER `certificates_changed` AFTER UPDATE OF `status` ON `certificates` WHEN new.`kind` = 'leaf' AND new.`status` <> old.`status` BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `status` = old.`status` AND `day` = old.`not_after` / 86400000 AND `profile` = old.`profile`;
	INSERT INTO `certificate_counts` VALUES (new.`ca_id`, new.`status`, new.`not_after` / 86400000, new.`profile`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;--> statement-breakpoint
CREATE TRIGGER `certificates_removed` AFTER DELETE ON `certificates` WHEN old.`kind` = 'leaf' BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `status` = old.`status` AND `day` = old.`not_after` / 86400000 AND `profile` = old.`profile`;
	INSERT INTO `certificate_search`(`certificate_search`, `rowid`, `search`) VALUES ('delete', old.`ordinal`, old.`search`);
END;--> statement-breakpoint
CREATE TRIGGER `revocations_added` AFTER INSERT ON `revocations` BEGIN
	INSERT INTO `revocation_counts` VALUES (new.`ca_id`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;--> statement-breakpoint
CREATE TRIGGER `revocations_removed` AFTER DELETE ON `revocations` BEGIN
	UPDATE `revocation_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id`;
END;--> statement-breakpoint
CREATE TRIGGER `tenant_counts_added` AFTER INSERT ON `certificates` WHEN new.`kind` = 'leaf' BEGIN
	INSERT INTO `tenant_counts` VALUES (new.`tenant`, 'issued', new.`created_at` / 86400000, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
	INSERT INTO `tenant_counts` VALUES (new.`tenant`, 'living', new.`not_after` / 3600000, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;--> statement-breakpoint
CREATE TRIGGER `tenant_counts_revoked` AFTER UPDATE OF `status` ON `certificates` WHEN new.`kind` = 'leaf' AND new.`status` = 'revoked' AND old.`status` <> 'revoked' BEGIN
	INSERT INTO `tenant_counts` VALUES (new.`tenant`, 'revoked', new.`revoked_at` / 86400000, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
	UPDATE `tenant_counts` SET `number` = `number` - 1 WHERE `tenant` = new.`tenant` AND `kind` = 'living' AND `slot` = new.`not_after` / 3600000;
END;--> statement-breakpoint
CREATE TRIGGER `tenant_counts_removed` AFTER DELETE ON `certificates` WHEN old.`kind` = 'leaf' AND old.`status` <> 'revoked' BEGIN
	UPDATE `tenant_counts` SET `number` = `number` - 1 WHERE `tenant` = old.`tenant` AND `kind` = 'living' AND `slot` = old.`not_after` / 3600000;
END;
