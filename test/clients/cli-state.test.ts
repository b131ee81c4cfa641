import {mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync} from 'node:fs'
import http from 'node:http'
import type {AddressInfo} from 'node:net'
import {hostname, tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {openKept} from '../../api/clients/cli/kept-imports.ts'
import {keepProfile, readProfiles, replaceProfileToken} from '../../api/clients/cli/profiles.ts'
import {startRun} from '../../api/clients/cli/run-start.ts'
import {readSettings} from '../../api/clients/cli/settings.ts'
import {openRetryingClient} from '../../api/clients/retry.ts'

const openSettings = (t: ExecutionContext) => {
  const here = mkdtempSync(join(tmpdir(), 'lading-state-'))
  t.teardown(() => rmSync(here, {recursive: true, force: true}))
  return readSettings({XDG_CONFIG_HOME: here, XDG_STATE_HOME: here})
}

test('a command that runs on another host is refused until its claim is a minute old, and --fresh takes its claim', async t => {
  const settings = openSettings(t)
  const open = () => openKept(settings, {server: 'http://x', org: 'org_1', how: {}, files: []}, text => t.fail(text))
  const folder = join(settings.stateDirectory, 'imports')
  const kept = await open()
  t.is(await kept.read(), null)
  await kept.write({import: 'imp_1', files: []})
  const lock = join(folder, readdirSync(folder).find(name => name.endsWith('.lock'))!)
  t.is(readFileSync(lock, 'utf8'), `${process.pid} of ${hostname()}`)

  writeFileSync(lock, '7 of elsewhere')
  await t.throwsAsync(kept.read(), {message: /already running: process 7 of elsewhere imports these files as imp_1/})
  utimesSync(lock, new Date(), Date.now() / 1000 - 61)
  t.like(await kept.read(), {import: 'imp_1'})

  writeFileSync(lock, '7 of elsewhere')
  await kept.write({import: 'imp_2', files: []})
  await kept.forget()
  const fresh = await open()
  t.is(await fresh.read(true), null)
  t.like(await fresh.read(), {import: 'imp_1'}, 'a command whose claim was taken changes no state')
  await fresh.forget()
  t.is(await fresh.read(), null)
  t.deepEqual(
    readdirSync(folder).filter(name => !name.endsWith('.lock')),
    [],
  )
})

test('a renewed session does not replace a session that another command stored meanwhile', async t => {
  const settings = openSettings(t)
  const profile = {org: 'org_1', orgName: 'Example', email: 'ana@example.org'}
  const tokenOf = async () => (await readProfiles(settings)).servers['http://x']?.token
  await keepProfile(settings, 'http://x', {...profile, token: 'first'})
  await replaceProfileToken(settings, 'http://x', 'first', 'renewed')
  t.is(await tokenOf(), 'renewed')
  await keepProfile(settings, 'http://x', {...profile, org: 'org_2', token: 'other'})
  await replaceProfileToken(settings, 'http://x', 'renewed', 'again')
  t.is(await tokenOf(), 'other')
})

/** Starts a server that answers each start of a run with 502. `runs`: the runs that it lists after a start. */
const openServer = async (t: ExecutionContext, runs: object[] = []) => {
  const state = {starts: 0}
  const server = http.createServer((request, response) => {
    const isStart = request.method === 'POST'
    if (isStart) state.starts++
    response.writeHead(isStart ? 502 : 200, {'content-type': 'application/json'})
    response.end(JSON.stringify(isStart ? {} : {runs: state.starts > 0 ? runs : []}))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const session = {client: openRetryingClient(url, () => 'token'), server: url, org: 'org_1', path: (rest: string) => `/${rest}`}
  return {state, session: {...session, keepFresh: async () => {}}}
}

test('after a lost response, only a run of the requested kind counts as the started run', async t => {
  const run = {id: 'run_1', dryRun: false, undoOf: null, retryOf: null, planOf: null}
  const others = [
    {...run, dryRun: true},
    {...run, undoOf: 'run_0'},
    {...run, retryOf: 'run_0'},
    {...run, planOf: 'run_0'},
  ]
  const {session} = await openServer(t, others)
  const error = await t.throwsAsync(startRun(session, 'imp_1', {}))
  t.like(error, {code: 'HTTP_502', exit: 6})
  t.regex((error as any).next, /Check with: lading runs imp_1/)
  const starts = [{dryRun: true}, {undoOf: 'run_0'}, {retryOf: 'run_0'}, {planOf: 'run_0'}]
  for (const [at, start] of starts.entries()) {
    const {session} = await openServer(t, [...others.toSpliced(at, 1), others[at]!])
    t.deepEqual(await startRun(session, 'imp_1', start), others[at])
  }
})

test('no run starts after an interrupt', async t => {
  const {session, state} = await openServer(t)
  const interrupt = new AbortController()
  const client = {
    ...session.client,
    async get(...given: Parameters<typeof session.client.get>) {
      interrupt.abort(new Error('Interrupted'))
      return session.client.get(...given)
    },
  }
  await t.throwsAsync(startRun({...session, client}, 'imp_1', {retryOf: 'run_0', signal: interrupt.signal}), {message: 'Interrupted'})
  t.is(state.starts, 0)
})
