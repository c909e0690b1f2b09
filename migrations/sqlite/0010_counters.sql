DROP TABLE `certificate_counts`;--> statement-breakpoint
CREATE TABLE `certificate_counts` (
	`ca_id` text NOT NULL,
	`status` text NOT NULL,
	`day` integer NOT NULL,
	`profile` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `status`, `day`, `profile`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `revocation_counts` (
	`ca_id` text PRIMARY KEY NOT NULL,
	`number` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
DROP TRIGGER `certificates_added`;--> statement-breakpoint
DROP TRIGGER `certificates_changed`;--> statement-breakpoint
DROP TRIGGER `certificates_removed`;--> statement-breakpoint
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
INSERT INTO `certificate_counts` SELECT `ca_id`, `status`, `not_after` / 86400000, `profile`, count(*) FROM `certificates` WHERE `kind` = 'leaf' GROUP BY 1, 2, 3, 4;--> statement-breakpoint
CREATE TRIGGER `revocations_added` AFTER INSERT ON `revocations` BEGIN
	INSERT INTO `revocation_counts` VALUES (new.`ca_id`, 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;--> statement-breakpoint
CREATE TRIGGER `revocations_removed` AFTER DELETE ON `revocations` BEGIN
	UPDATE `revocation_counts` SET `number` = `number` - 1 WHERE `ca_id` = old.`ca_id`;
END;--> statement-breakpoint
INSERT INTO `revocation_counts` SELECT `ca_id`, count(*) FROM `revocations` GROUP BY `ca_id`;
