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
CREATE TABLE `tenant_counts` (
	`tenant` text NOT NULL,
	`kind` text NOT NULL,
	`slot` integer NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`tenant`, `kind`, `slot`)
);
--> statement-breakpoint
ALTER TABLE `tenants` ADD `kek_label` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `max_certs_per_day` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `max_active_certs` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `rate_limit_per_second` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `rate_limit_burst` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `tenants_paging` ON `tenants` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `cas_tenant` ON `cas` (`tenant`);--> statement-breakpoint
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
END;--> statement-breakpoint
INSERT INTO `tenant_counts` SELECT `tenant`, 'issued', `created_at` / 86400000, count(*) FROM `certificates` WHERE `kind` = 'leaf' GROUP BY 1, 3;--> statement-breakpoint
INSERT INTO `tenant_counts` SELECT `tenant`, 'living', `not_after` / 3600000, count(*) FROM `certificates` WHERE `kind` = 'leaf' AND `status` <> 'revoked' GROUP BY 1, 3;--> statement-breakpoint
INSERT INTO `tenant_counts` SELECT `tenant`, 'revoked', `revoked_at` / 86400000, count(*) FROM `certificates` WHERE `kind` = 'leaf' AND `status` = 'revoked' GROUP BY 1, 3;
