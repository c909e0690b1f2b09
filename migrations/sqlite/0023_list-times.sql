ALTER TABLE `crl_heads` ADD `published_at` integer;--> statement-breakpoint
ALTER TABLE `crl_reservations` ADD `reserved_at` integer;