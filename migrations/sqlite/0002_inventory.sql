PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_certificates` (
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
	`marker` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_certificates`("id", "ca_id", "tenant", "serial", "serial_hex", "kind", "subject", "common_name", "sans", "search", "profile", "certificate", "not_before", "not_after", "status", "revoked_at", "reason", "requested_by", "created_at", "spki_sha256", "marker") SELECT "id", "ca_id", "tenant", "serial", "serial_hex", "kind", "subject", "common_name", "sans", "search", "profile", "certificate", "not_before", "not_after", "status", "revoked_at", "reason", "requested_by", "created_at", "spki_sha256", "marker" FROM `certificates` ORDER BY "created_at", "id";--> statement-breakpoint
DROP TABLE `certificates`;--> statement-breakpoint
ALTER TABLE `__new_certificates` RENAME TO `certificates`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_serial` ON `certificates` (`ca_id`,`serial`);--> statement-breakpoint
CREATE INDEX `certificates_paging` ON `certificates` (`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_profile` ON `certificates` (`profile`,`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_key` ON `certificates` (`spki_sha256`,`ca_id`,`kind`,`ordinal`);--> statement-breakpoint
CREATE INDEX `certificates_expiry` ON `certificates` (`ca_id`,`kind`,`status`,`not_after`);--> statement-breakpoint
CREATE VIRTUAL TABLE `certificate_search` USING fts5(`search`, content='certificates', content_rowid='ordinal', tokenize='trigram');--> statement-breakpoint
CREATE TABLE `certificate_counts` (
	`ca_id` text NOT NULL,
	`profile` text NOT NULL,
	`status` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `profile`, `status`)
) WITHOUT ROWID;--> statement-breakpoint
CREATE TRIGGER `certificates_added` AFTER INSERT ON `certificates` WHEN new.`kind` = 'leaf' BEGIN
	INSERT INTO `certificate_counts` VALUES (new.`ca_id`, new.`profile`, new.`status`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
	INSERT INTO `certificate_search`(`rowid`, `search`) VALUES (new.`ordinal`, new.`search`);
END;--> statement-breakpoint
CREATE TRIGGER `certificates_changed` AFTER UPDATE OF `status` ON `certificates` WHEN new.`kind` = 'leaf' AND new.`status` <> old.`status` BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `profile` = old.`profile` AND `status` = old.`status`;
	INSERT INTO `certificate_counts` VALUES (new.`ca_id`, new.`profile`, new.`status`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;--> statement-breakpoint
CREATE TRIGGER `certificates_removed` AFTER DELETE ON `certificates` WHEN old.`kind` = 'leaf' BEGIN
	UPDATE `certificate_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id` AND `profile` = old.`profile` AND `status` = old.`status`;
	INSERT INTO `certificate_search`(`certificate_search`, `rowid`, `search`) VALUES ('delete', old.`ordinal`, old.`search`);
END;--> statement-breakpoint
INSERT INTO `certificate_counts` SELECT `ca_id`, `profile`, `status`, count(*) FROM `certificates` WHERE `kind` = 'leaf' GROUP BY `ca_id`, `profile`, `status`;--> statement-breakpoint
INSERT INTO `certificate_search`(`rowid`, `search`) SELECT `ordinal`, `search` FROM `certificates` WHERE `kind` = 'leaf';
