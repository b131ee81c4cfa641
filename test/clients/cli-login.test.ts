import {once} from 'node:events'
import {readFileSync, statSync, writeFileSync} from 'node:fs'
import {request} from 'node:http'
import {connect} from 'node:net'
import {join} from 'node:path'
import test from 'ava'
import {signId} from '../../shared/accounts/signed.ts'
import {newId} from '../../shared/ids.ts'
import {insertSession} from '../../sql/sessions.ts'
import {openHome} from '../support/cli-process.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const sessionsIn = (home: {here: string}) => join(home.here, 'config', 'lading', 'sessions.json')
const readSessions = (home: {here: string}) => JSON.parse(readFileSync(sessionsIn(home), 'utf8'))

/** Submits a form as a browser does, under any Host header. */
const post = (port: number, form: Record<string, string>, host = `127.0.0.1:${port}`): Promise<{status: number; text: string}> =>
  new Promise((resolve, reject) => {
    const headers = {'content-type': 'application/x-www-form-urlencoded', host}
    const sent = request({host: '127.0.0.1', port, method: 'POST', path: '/', headers}, async response => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({status: response.statusCode!, text})
    })
    sent.on('error', reject)
    sent.end(new URLSearchParams(form).toString())
  })

test('a browser sign-in hands the session to the waiting command on this machine and to nothing else', async t => {
  const home = openHome()
  const started = home.start(['login', '--no-browser', '--server', house.url])
  const said = await until(started.err, text => text.includes('Waiting'))
  const url = new URL(/ {2}(http\S+)/.exec(said)![1]!)
  const [, code] = /The page shows the code (\S+)\. /.exec(said)!
  const port = Number(url.searchParams.get('port'))
  const state = url.searchParams.get('state')!

  const page = await fetch(url)
  t.is(page.status, 200)
  const policy = page.headers.get('content-security-policy')!
  t.regex(policy, new RegExp(`form-action http://127\\.0\\.0\\.1:${port};`))
  t.regex(policy, /^default-src 'none'; script-src 'nonce-[^']+'; connect-src 'self'; /)
  const html = await page.text()
  t.true(html.includes(code!), 'the terminal and the page show one code')
  t.is(/<form [^>]*action="([^"]+)"/.exec(html)![1], `http://127.0.0.1:${port}/`)

  const token = await house.signIn()
  t.is((await post(port, {state: state.replace(/^./, digit => (digit === '0' ? '1' : '0')), token})).status, 403, 'another state')
  t.is((await post(port, {state, token}, `rebound.example:${port}`)).status, 403, 'another name of this machine')
  t.is((await fetch(`http://127.0.0.1:${port}/?${new URLSearchParams({state, token})}`)).status, 403, 'an address')
  const done = await post(port, {state, token})
  t.is(done.status, 200)
  t.regex(done.text, /You can close this window/)
  const {code: exit, out} = await started.ended
  t.is(exit, 0)
  t.regex(out, /^Signed in to http:\/\/127\.0\.0\.1:\d+ as Ana Ruiz <ana@example\.org>, \w+ of Example Ltd\n/)
  t.is(statSync(sessionsIn(home)).mode & 0o777, 0o600)

  const who = await home.run(['whoami', '--json'])
  t.like(JSON.parse(who.out), {server: house.url, via: 'session', user: {email: 'ana@example.org'}})
  t.is((await home.run(['logout'])).out, `Signed out of ${house.url}\n`)
  t.is((await house.as(token)('GET', '/auth/me')).body.code, 'AUTH_REQUIRED', 'at the server too')
  const gone = await home.run(['whoami', '--server', house.url])
  t.is(gone.code, 5)
  t.regex(gone.err, /Sign in with: lading login --server http/)
})

test('a login ends at once, although the browser holds a spare connection open', async t => {
  const home = openHome()
  const started = home.start(['login', '--no-browser', '--server', house.url])
  const url = new URL(/ {2}(http\S+)/.exec(await until(started.err, text => text.includes('Waiting')))![1]!)
  const [port, state] = [Number(url.searchParams.get('port')), url.searchParams.get('state')!]
  const spare = connect(port, '127.0.0.1')
  await once(spare, 'connect')
  const cut = once(spare, 'close')
  const done = await post(port, {state, token: await house.signIn()})
  t.regex(done.text, /You can close this window/, 'the whole page arrives')
  t.is((await started.ended).code, 0)
  await cut
})

test('the sign-in page accepts only local ports and valid states, and echoes no other input', async t => {
  const state = '0123456789abcdef'.repeat(4)
  const ask = (query: Record<string, string>) => fetch(`${house.url}/cli?${new URLSearchParams(query)}`)
  for (const port of ['80', '1023', '65536', '0x1000', '8080@evil.example', '']) t.is((await ask({port, state})).status, 400, port)
  for (const bad of ['', 'abc', `${state}"><script>`, 'Z'.repeat(64)]) t.is((await ask({port: '50000', state: bad})).status, 400, bad)
  const html = await (await ask({port: '50000', state, dc: '"><script>alert(1)'})).text()
  t.false(html.includes('alert(1)'))
  t.regex(html, /<option value="local" selected>/)
})

test('a token is read from standard input, and a session is renewed after half its lifetime', async t => {
  const home = openHome()
  const {org, person, token} = await house.makeOrg()
  const {secret} = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'}), 201)
  const {code, err} = await home.run(['login', '--token', '--server', house.url], {input: `${secret}\n`})
  t.is(code, 0, err)
  t.is(readSessions(home).servers[house.url].token, secret)
  const wrong = await home.run(['login', '--token', '-', '--server', house.url], {input: 'lading_wrong'})
  t.is(wrong.code, 5)
  for (const input of [`${secret}\n${secret}\n`, `${secret}–`])
    t.is((await home.run(['login', '--token', '--server', house.url], {input})).code, 4, input)
  t.is(readSessions(home).servers[house.url].token, secret, 'what was there stays')

  const {id} = await insertSession(house.db, {id: newId('ses'), person, org, role: 'owner', hours: 8})
  const old = await signId(house.config.SESSION_KEYS, 'session', {id, expiresAt: new Date().toISOString()})
  writeFileSync(
    sessionsIn(home),
    JSON.stringify({current: house.url, servers: {[house.url]: {token: old, org, orgName: 'Test Org', email: 'x@example.org'}}}),
  )
  t.is((await home.run(['whoami'])).code, 0)
  const {token: renewed} = readSessions(home).servers[house.url]
  t.not(renewed, old)
  t.is((await house.as(renewed)('GET', '/auth/me')).status, 200)
})
