CREATE TABLE `day_counts` (
	`ca_id` text NOT NULL,
	`day` integer NOT NULL,
	`kind` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`ca_id`, `day`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
-- Those that are not folded yet are counted when they are.
INSERT INTO `day_counts` SELECT `ca_id`, `created_at` / 86400000, 'issued', count(*) FROM `certificates` WHERE `folded` AND `kind` = 'leaf' GROUP BY 1, 2 UNION ALL SELECT `ca_id`, coalesce(`revoked_at`, `created_at`) / 86400000, 'revoked', count(*) FROM `certificates` WHERE `folded` AND `kind` = 'leaf' AND `status` = 'revoked' GROUP BY 1, 2;--> statement-breakpoint
CREATE TRIGGER `day_counts_revoked` AFTER UPDATE OF `status` ON `certificates` WHEN old.`folded` AND new.`kind` = 'leaf' AND new.`status` = 'revoked' AND old.`status` <> 'revoked' BEGIN
	INSERT INTO `day_counts` VALUES (new.`ca_id`, coalesce(new.`revoked_at`, new.`created_at`) / 86400000, 'revoked', 1) ON CONFLICT DO UPDATE SET `number` = `number` + 1;
END;
