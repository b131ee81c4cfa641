import autocannon from 'autocannon'
import {openDeployment} from './deployment.ts'
import {openOrg, ok} from './importing.ts'
const ends: any[] = []
const house = await openDeployment('load', {workers: ['discovery'], environment: {RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}}, e => ends.push(e))
const place = await openOrg(house)
await ok(place.call('POST', `/orgs/${place.org}/discovery/run`, {connectorId: place.connector}, {prefer: 'wait=30'}), 200)
const mem = () => { (globalThis as any).gc?.(); const m = process.memoryUsage(); return `rss ${(m.rss / 1e6) | 0} heap ${(m.heapUsed / 1e6) | 0}` }
console.log('before', mem())
const call = (version: any, extra: any) => ({url: `${house.url}/mcp`, connections: 10, duration: 6, method: 'POST' as const, headers: {authorization: `Bearer ${place.session}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...version}, body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name: 'list_modules', arguments: {}, ...extra}})})
await house.as(place.session)('POST', '/mcp', call({'mcp-protocol-version': '2025-11-25'}, {}).body, call({}, {}).headers)
console.log('first', mem())
for (const [n, o] of [['old', call({'mcp-protocol-version': '2025-11-25'}, {})], ['new', call({'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'list_modules'}, {_meta: {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}})]] as const) {
  const r = await autocannon(o as any)
  console.log(n, 'req/s', r.requests.mean, 'p50', r.latency.p50, 'p97.5', r.latency.p97_5, 'p99', r.latency.p99, 'non2xx', r.non2xx, mem())
}
const r = await autocannon({...call({}, {}), method: 'GET', url: `${house.url}/orgs/${place.org}/config/modules`, body: undefined} as any)
console.log('rest', 'req/s', r.requests.mean, 'p50', r.latency.p50, 'p97.5', r.latency.p97_5, mem())
for (const e of ends.reverse()) await e().catch(() => {})
process.exit(0)
