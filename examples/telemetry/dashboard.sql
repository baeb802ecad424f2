-- Monthly active devices by device type and operating system: ClickHouse, in the table that the collector's clickhouse exporter makes.
-- For a panel of Grafana add AND $__timeFilter(Timestamp) to the condition.
SELECT
  toStartOfMonth(toTimeZone(Timestamp, 'UTC')) AS month,
  LogAttributes['dxtensor.device.type'] AS device_type,
  ResourceAttributes['os.name'] AS os,
  uniqExact(LogAttributes['dxtensor.monthly.id']) AS active_devices
FROM otel.otel_logs
WHERE ServiceName = 'dxtensor'
GROUP BY month, device_type, os
ORDER BY month, device_type, os
