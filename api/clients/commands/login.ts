import {randomBytes} from 'node:crypto'
import {text as readText} from 'node:stream/consumers'
import type {Command} from 'commander'
import {EXIT} from '../cli/exit-codes.ts'
import {assertToken, Failure, failureOf, signedOut, usage} from '../cli/failure.ts'
import {Interrupted, interrupted} from '../cli/interrupt.ts'
import {listenForSession} from '../cli/login-listener.ts'
import {openBrowser} from '../cli/open-browser.ts'
import {clean} from '../cli/phrases.ts'
import {dropProfile, keepProfile, readProfiles} from '../cli/profiles.ts'
import {type Cli, chooseServer, isOnThisMachine, lifeOf} from '../cli/session.ts'
import {ApiError, type Json} from '../http.ts'
import {openRetryingClient} from '../retry.ts'

const waitMinutes = 10

type Options = {token?: string | true; browser: boolean; dc?: string}

export default (cli: Cli, program: Command) => {
  program
    .command('login')
    .summary('sign in with the browser or a token')
    .description('Signs in to a server and stores the session. A session lasts eight hours and is renewed while you use it.')
    .option('--token [token]', 'use an API token; - or no value reads it from standard input or LADING_TOKEN')
    .option('--no-browser', 'print the URL without opening a browser')
    .option('--dc <name>', 'preselected data centre of the CRM: us, eu, in, au, jp, ca, cn, sa, uk, ae')
    .addHelpText('after', LOGIN_HELP)
    .action((options: Options) => login(cli, options))

  program
    .command('logout')
    .summary('sign out of a server')
    .description('Ends the session on the server and deletes the stored session. An API token stays valid.')
    .addHelpText('after', '\nExamples:\n  lading logout\n  lading logout --server https://lading.example.com')
    .action(() => logout(cli))

  program
    .command('whoami')
    .summary('show the current user, org and server')
    .addHelpText('after', '\nExamples:\n  lading whoami\n  lading whoami --json | jq -r .org.id')
    .action(async () => {
      const {client, server} = await cli.open()
      const me = await client.get('/auth/me')
      const {token} = cli.settings.token ? {} : ((await readProfiles(cli.settings)).servers[server] ?? {})
      const life = token ? lifeOf(token) : null
      const ends = life && cli.out.time(new Date(life.endsAt).toISOString())
      cli.out.answer({server, ...me}, [
        `${clean(me.user.name)} <${clean(me.user.email)}>`,
        `  org     ${clean(me.org?.name ?? '-')} (${me.org?.id ?? 'none'})`,
        `  role    ${me.role ?? '-'}`,
        `  server  ${server}`,
        `  by      ${me.via === 'token' ? 'API token' : 'session'}${life ? `, expires ${ends} unless used` : ''}`,
      ])
    })
}

const login = async (cli: Cli, {token: given, browser, dc}: Options) => {
  const {settings, out} = cli
  const server = await chooseServer(settings, cli.server())
  if (server.startsWith('http:') && !isOnThisMachine(server.slice('http://'.length)))
    out.warn(`The connection to ${server} is not encrypted, so others on the network can steal the session`)
  const token = given === undefined ? await askBrowser(cli, server, {browser, ...(dc && {dc})}) : await readToken(cli, given)
  assertToken(token)
  const client = openRetryingClient(server, () => token)
  const me = await client.get('/auth/me')
  if (!me.org) throw signedOut(`${me.user.email} belongs to no org on this server. Accept an invitation in the browser first`, server)
  await keepProfile(settings, server, {token, org: me.org.id, orgName: me.org.name, email: me.user.email})
  out.answer({server, ...me}, [
    `Signed in to ${server} as ${clean(me.user.name)} <${clean(me.user.email)}>, ${me.role} of ${clean(me.org.name)}`,
    'Next: lading connections, lading templates',
  ])
  if (settings.token && settings.token !== token) out.warn('LADING_TOKEN is set and takes precedence over this session')
}

const logout = async ({settings, out, server: named}: Cli) => {
  const server = await chooseServer(settings, named())
  const {token} = (await readProfiles(settings)).servers[server] ?? {}
  const problem = token && lifeOf(token) ? await endSession(server, token) : null
  const wasThere = await dropProfile(settings, server)
  out.answer({server, signedOut: wasThere}, wasThere ? `Signed out of ${server}` : `You were not signed in to ${server}`)
  if (problem) out.warn(`Could not end the session on the server (${problem}). It expires within eight hours`)
  if (settings.token) out.warn('LADING_TOKEN is set and still authenticates every command')
}

/** Ends the session on the server. Returns null if the session has ended, else an error message. */
const endSession = async (server: string, token: string): Promise<string | null> => {
  try {
    await openRetryingClient(server, () => token).delete('/auth/session')
    return null
  } catch (error) {
    return error instanceof ApiError && error.status === 401 ? null : failureOf(error).message
  }
}

const readToken = async ({settings, out}: Cli, given: string | true): Promise<string> => {
  if (typeof given === 'string' && given !== '-') {
    out.warn('Other users of this machine can see a token on the command line. Pipe it in, or set LADING_TOKEN')
    return given.trim()
  }
  if (given === true && settings.token) return settings.token
  if (process.stdin.isTTY) throw usage('No token given', 'Run: lading login --token < token.txt, or set LADING_TOKEN')
  const token = (await readText(process.stdin)).trim()
  if (token) return token
  throw usage('Standard input is empty', 'Run: lading login --token < token.txt')
}

/** Opens a page of the server, where the person signs in. The page then posts the session to this machine. */
const askBrowser = async (cli: Cli, server: string, {browser, dc}: {browser: boolean; dc?: string}): Promise<string> => {
  const {out, settings, interrupt} = cli
  await assertReachable(server)
  const signal = interrupt()
  const state = randomBytes(32).toString('hex')
  const listener = await listenForSession(state, {signal, timeoutMs: waitMinutes * 60_000})
  const url = `${server}/cli?${new URLSearchParams({port: String(listener.port), state, ...(dc && {dc})})}`
  const code = `${state.slice(0, 4)}-${state.slice(4, 8)}`.toUpperCase()
  // Also printed with --json, because the login cannot continue without it.
  out.err.write(`Open this URL in a browser on this machine to sign in:\n  ${url}\nThe page shows the code ${code}. Waiting ...\n`)
  if (browser) openBrowser(settings, url)
  try {
    return await listener.token
  } catch (error) {
    if (error instanceof Interrupted) throw interrupted(error, 'Login cancelled', 'Start again with: lading login')
    throw new Failure(`The login timed out after ${waitMinutes} minutes`, {
      exit: EXIT.signedOut,
      code: 'NOT_SIGNED_IN',
      next: 'Start again with: lading login   (on a machine without a browser: lading login --token < token.txt)',
    })
  } finally {
    listener.close()
  }
}

/** Throws if the server does not respond. This check comes before the browser opens. */
const assertReachable = async (server: string): Promise<Json> =>
  openRetryingClient(server, () => null).call('GET', '/health', {timeoutMs: 15_000})

const LOGIN_HELP = `
Without a token, a browser opens on this machine: sign in, compare the code, and allow the command
line. On another machine or in CI, use an API token: an admin creates one with
lading tokens create NAME. Set LADING_URL and LADING_TOKEN; then no login is needed.

Examples:
  lading login --server https://lading.example.com
  lading login --dc eu
  lading login --token < token.txt

Next: lading whoami, lading connections`
