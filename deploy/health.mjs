// The health check of a container: the API answers /health with 200, and a worker answers its metrics port at all.
const {PORT = '4000', METRICS_PORT} = process.env
const url = METRICS_PORT ? `http://127.0.0.1:${METRICS_PORT}/metrics` : `http://127.0.0.1:${PORT}/health`
try {
  const {status} = await fetch(url, {signal: AbortSignal.timeout(8_000)})
  process.exitCode = METRICS_PORT ? Number(status >= 500) : Number(status !== 200)
} catch (error) {
  process.stderr.write(`${url}: ${error.cause?.message ?? error.message}\n`)
  process.exitCode = 1
}
