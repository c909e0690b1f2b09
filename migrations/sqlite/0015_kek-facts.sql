ALTER TABLE `kek_versions` ADD `device_serial` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `kek_versions` ADD `spki_sha256` text;