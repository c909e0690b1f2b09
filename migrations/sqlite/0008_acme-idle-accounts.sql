ALTER TABLE `acme_accounts` ADD `idle_since` integer;--> statement-breakpoint
CREATE INDEX `acme_accounts_idle` ON `acme_accounts` (`idle_since`,`id`) WHERE idle_since is not null;--> statement-breakpoint
CREATE INDEX `acme_authorizations_alone` ON `acme_authorizations` (`account`) WHERE not ordered;