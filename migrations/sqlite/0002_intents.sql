CREATE TABLE `__new_open_intents` (
	`op_id` text NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`purpose` text NOT NULL,
	`tbs_digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`number` integer,
	`owner` integer NOT NULL,
	PRIMARY KEY(`serial`, `op_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_open_intents` (`op_id`, `ca_id`, `serial`, `purpose`, `tbs_digest`, `requested_by`, `created_at`, `number`, `owner`)
SELECT i.`op_id`, i.`ca_id`, i.`serial`, i.`purpose`, i.`tbs_digest`, i.`requested_by`, i.`created_at`, o.`number`, i.`owner`
FROM `intents` i LEFT JOIN `open_intents` o ON o.`op_id` = i.`op_id` WHERE i.`state` = 'intended';
--> statement-breakpoint
INSERT INTO `__new_open_intents` (`op_id`, `ca_id`, `serial`, `purpose`, `tbs_digest`, `requested_by`, `created_at`, `number`, `owner`)
SELECT o.`op_id`, '', '', '', '', '', 0, o.`number`, o.`owner` FROM `open_intents` o
WHERE NOT EXISTS (SELECT 1 FROM `intents` i WHERE i.`op_id` = o.`op_id` AND i.`state` = 'intended');
--> statement-breakpoint
DROP TABLE `open_intents`;--> statement-breakpoint
ALTER TABLE `__new_open_intents` RENAME TO `open_intents`;--> statement-breakpoint
CREATE TABLE `__new_intents` (
	`op_id` text NOT NULL,
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`purpose` text NOT NULL,
	`tbs_digest` text NOT NULL,
	`requested_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`state` text NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
--> statement-breakpoint
INSERT INTO `__new_intents` (`op_id`, `ca_id`, `serial`, `purpose`, `tbs_digest`, `requested_by`, `created_at`, `state`)
SELECT i.`op_id`, i.`ca_id`, i.`serial`, i.`purpose`, i.`tbs_digest`, i.`requested_by`, i.`created_at`, CASE i.`state` WHEN 'abandoned' THEN 'abandoned' ELSE 'orphaned' END
FROM `intents` i WHERE i.`state` <> 'intended' AND (i.`state` <> 'issued' OR NOT EXISTS (
	SELECT 1 FROM `certificates` c WHERE c.`ca_id` = i.`ca_id` AND c.`serial` = i.`serial`
));
--> statement-breakpoint
DROP TABLE `intents`;--> statement-breakpoint
ALTER TABLE `__new_intents` RENAME TO `intents`;--> statement-breakpoint
CREATE INDEX `intents_orphaned` ON `intents` (`ca_id`,`created_at`) WHERE state = 'orphaned';
