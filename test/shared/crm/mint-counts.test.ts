import {once} from 'node:events'
import {type AddressInfo, createServer} from 'node:net'
import test from 'ava'
import {openClient} from '../../../shared/crm/client.ts'
import {openGrants} from '../../../shared/crm/grant.ts'
import {findHosts} from '../../../shared/crm/hosts.ts'
import {renewToken} from '../../../shared/crm/token.ts'
import {openLog} from '../../../shared/telemetry/log.ts'
import {place} from './crm-fixture.ts'

const log = openLog('test', 'silent')

test('a renewal counts unless it certainly issued no token', async t => {
  const client = openClient({config: {CRM_TIMEOUT_SECONDS: 2}, log})
  t.teardown(() => client.close())
  const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const {port} = server.address() as AddressInfo
  const accounts = `http://127.0.0.1:${port}`
  const hosts = {dc: 'local', accounts} as Parameters<typeof renewToken>[1]['hosts']
  const renew = () => renewToken(client, {own: {id: 'a', secret: 'b'}, hosts, refreshToken: 'c', timeoutSeconds: 2})
  t.like(await renew(), {refused: 'failed', isCounted: true}, 'the answer is lost')
  await new Promise(resolve => server.close(resolve))
  t.like(await renew(), {refused: 'failed', isCounted: false}, 'nothing was sent')
})

test('a data centre without an OAuth client is refused, and nothing is counted', async t => {
  const {config: usual, connect, db, mintsOf} = await place(t)
  const id = await connect({accessSeconds: 0})
  const hosts = findHosts(usual, 'local')!
  const client = openClient({config: usual, log})
  t.teardown(() => client.close())
  const config = {...usual, CRM_CLIENTS: {eu: {id: 'a', secret: 'b'}}}
  const grants = openGrants({db, config, log, client})
  await t.throwsAsync(grants.token({connector: id, hosts: {...hosts, dc: 'us'}}), {message: /No OAuth client/})
  t.is(await mintsOf(id), 0)
})
