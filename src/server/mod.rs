//! Webhook receiver, durable inbox, dirty set, workers, admin.
