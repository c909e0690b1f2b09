CREATE TABLE `folds` (
	`name` text PRIMARY KEY NOT NULL,
	`through` integer NOT NULL,
	`removed` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `folds` SELECT 'certificates', coalesce(max(`ordinal`), 0), max(coalesce(max(`ordinal`), 0), coalesce((SELECT `seq` FROM `sqlite_sequence` WHERE `name` = 'certificates'), 0)) FROM `certificates`;--> statement-breakpoint
INSERT INTO `folds` SELECT 'events', coalesce(max(`seq`), 0), 0 FROM `events`;--> statement-breakpoint
CREATE TABLE `__new_certificates` (
	`ordinal` integer PRIMARY KEY NOT NULL,
	`folded` integer DEFAULT false NOT NULL,
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
	`crl_url` text,
	`certificate` blob NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_certificates`("ordinal", "folded", "id", "ca_id", "tenant", "serial", "serial_hex", "kind", "subject", "common_name", "sans", "search", "profile", "not_before", "not_after", "status", "revoked_at", "reason", "requested_by", "created_at", "spki_sha256", "marker", "identity", "ct", "crl_partition", "crl_url", "certificate") SELECT "ordinal", 1, "id", "ca_id", "tenant", "serial", "serial_hex", "kind", "subject", "common_name", "sans", "search", "profile", "not_before", "not_after", "status", "revoked_at", "reason", "requested_by", "created_at", "spki_sha256", "marker", "identity", "ct", "crl_partition", "crl_url", "certificate" FROM `certificates`;--> statement-breakpoint
DROP TABLE `certificates`;--> statement-breakpoint
ALTER TABLE `__new_certificates` RENAME TO `certificates`;--> statement-breakpoint
CREATE INDEX `certificates_identity` ON `certificates` (`identity`,`not_after`) WHERE folded;--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_serial` ON `certificates` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `certificates_paging` ON `certificates` (`ca_id`,`kind`,`ordinal`) WHERE folded;--> statement-breakpoint
CREATE INDEX `certificates_profile` ON `certificates` (`profile`,`ca_id`,`kind`,`ordinal`) WHERE folded;--> statement-breakpoint
CREATE INDEX `certificates_key` ON `certificates` (`spki_sha256`,`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_expiry` ON `certificates` (`ca_id`,`kind`,`status`,`not_after`) WHERE folded;--> statement-breakpoint
CREATE TRIGGER `certificates_changed` AFTER UPDATE OF `status` ON `certificates` WHEN old.`folded` AND new.`kind` = 'leaf' AND new.`status` <> old.`status` BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `status` = old.`status` AND `day` = old.`not_after` / 86400000 AND `profile` = old.`profile`;
	INSERT INTO `certificate_counts` VALUES (new.`ca_id`, new.`status`, new.`not_after` / 86400000, new.`profile`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `certificates_removed` AFTER DELETE ON `certificates` WHEN old.`folded` AND old.`kind` = 'leaf' BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `status` = old.`status` AND `day` = old.`not_after` / 86400000 AND `profile` = old.`profile`;
	INSERT INTO `certificate_search`(`certificate_search`, `rowid`, `search`) VALUES ('delete', old.`ordinal`, old.`search`);
END;
--> statement-breakpoint
CREATE TRIGGER `certificates_spent` AFTER DELETE ON `certificates` BEGIN
	UPDATE `folds` SET `removed` = max(`removed`, old.`ordinal`) WHERE `name` = 'certificates';
END;
--> statement-breakpoint
CREATE TRIGGER `tenant_counts_revoked` AFTER UPDATE OF `status` ON `certificates` WHEN old.`folded` AND new.`kind` = 'leaf' AND new.`status` = 'revoked' AND old.`status` <> 'revoked' BEGIN
	INSERT INTO `tenant_counts` VALUES (new.`tenant`, 'revoked', new.`revoked_at` / 86400000, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
	UPDATE `tenant_counts` SET `number` = `number` - 1 WHERE `tenant` = new.`tenant` AND `kind` = 'living' AND `slot` = new.`not_after` / 3600000;
END;
--> statement-breakpoint
CREATE TRIGGER `tenant_counts_removed` AFTER DELETE ON `certificates` WHEN old.`folded` AND old.`kind` = 'leaf' AND old.`status` <> 'revoked' BEGIN
	UPDATE `tenant_counts` SET `number` = `number` - 1 WHERE `tenant` = old.`tenant` AND `kind` = 'living' AND `slot` = old.`not_after` / 3600000;
END;
--> statement-breakpoint
CREATE TABLE `__new_events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`folded` integer DEFAULT false NOT NULL,
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
INSERT INTO `__new_events`("seq", "folded", "id", "timestamp", "actor", "actor_name", "actor_roles", "action", "result", "tenant", "ca_id", "serial", "target", "target_name", "detail", "ip", "request_id", "prev_hash", "hash", "at") SELECT "seq", 1, "id", "timestamp", "actor", "actor_name", "actor_roles", "action", "result", "tenant", "ca_id", "serial", "target", "target_name", "detail", "ip", "request_id", "prev_hash", "hash", "at" FROM `events`;--> statement-breakpoint
DROP TABLE `events`;--> statement-breakpoint
ALTER TABLE `__new_events` RENAME TO `events`;--> statement-breakpoint
CREATE INDEX `events_action` ON `events` (`action`) WHERE folded;--> statement-breakpoint
CREATE INDEX `events_actor` ON `events` (`actor`) WHERE folded;--> statement-breakpoint
CREATE INDEX `events_certificate` ON `events` (`ca_id`,`serial`) WHERE folded;--> statement-breakpoint
CREATE INDEX `events_time` ON `events` (`at`) WHERE folded;