ALTER TABLE `certificates` ADD `identity` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `certificates_identity` ON `certificates` (`identity`,`not_after`);