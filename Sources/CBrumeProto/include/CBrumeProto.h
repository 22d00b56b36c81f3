#pragma once
// All messages of Brume, generated from proto/ by Scripts/generate-proto.sh.
#include "server-v1-views.pb-c.h"
#include "store-v1-store.pb-c.h"
#include "v1-admin.pb-c.h"
#include "v1-connection.pb-c.h"
#include "v1-databases.pb-c.h"
#include "v1-health.pb-c.h"
#include "v1-notifications.pb-c.h"
#include "v1-record.pb-c.h"
#include "v1-records.pb-c.h"
#include "v1-subscriptions.pb-c.h"
#include "v1-zones.pb-c.h"
