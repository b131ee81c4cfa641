import {randomBytes} from 'node:crypto'
import {text as readText} from 'node:stream/consumers'
import type {Command} from 'commander'
import {EXIT} from '../cli/exit-codes.ts'
import {Failure, failureOf, signedOut, usage} from '../cli/failure.ts'
import {Interrupted, interrupted} from '../cli/interrupt.ts'
import {listenForSession} from '../cli/login-listener.ts'
import {openBrowser} from '../cli/open-browser.ts'
import {openPatient} from '../cli/patience.ts'
import {dropProfile, keepProfile, readProfiles} from '../cli/profiles.ts'
import {type Cli, chooseServer, lifeOf} from '../cli/session.ts'
import {clean, moment} from '../cli/words.ts'
import {ApiError, type Json} from '../http.ts'

const waitMinutes = 10

type Options = {token?: string | true; browser: boolean; dc?: string}

export default (cli: Cli, program: Command) => {
  program
    .command('login')
    .summary('sign in, by browser or with a token')
    .description('Signs in at a server and remembers it. A session lasts eight hours and is renewed while it is used.')
    .option('--token [token]', 'an API token instead; - or nothing reads it from the standard input or LADING_TOKEN')
    .option('--no-browser', 'print the address, and open nothing')
    .option('--dc <name>', "the CRM's data centre to begin with: us, eu, in, au, jp, ca, cn, sa, uk")
    .addHelpText('after', LOGIN_HELP)
    .action((options: Options) => login(cli, options))

  program
    .command('logout')
    .summary('end the session at a server')
    .description(
      'Ends the session at the server and removes what `login` kept here. Tokens it was renewed from end by themselves, eight hours after they were made. An API token stays good.',
    )
    .addHelpText('after', '\nExamples:\n  lading logout\n  lading logout --server https://lading.example.com')
    .action(() => logout(cli))

  program
    .command('whoami')
    .summary('show who is signed in, and where')
    .addHelpText('after', '\nExamples:\n  lading whoami\n  lading whoami --json | jq -r .org.id')
    .action(async () => {
      const {client, server} = await cli.open()
      const me = await client.get('/auth/me')
      const {token} = cli.settings.token ? {} : ((await readProfiles(cli.settings)).servers[server] ?? {})
      const life = token ? lifeOf(token) : null
      cli.out.answer({server, ...me}, [
        `${clean(me.user.name)} <${clean(me.user.email)}>`,
        `  org     ${clean(me.org?.name ?? '-')} (${me.org?.id ?? 'none'})`,
        `  role    ${me.role ?? '-'}`,
        `  server  ${server}`,
        `  by      ${me.via === 'token' ? 'API token' : 'session'}${life ? `, until ${moment(new Date(life.endsAt).toISOString())} unless it is used` : ''}`,
      ])
    })
}

const login = async (cli: Cli, {token: given, browser, dc}: Options) => {
  const {settings, out} = cli
  const server = await chooseServer(settings, cli.server())
  if (server.startsWith('http:') && !/^http:\/\/(127\.|localhost|\[::1\])/.test(server))
    out.warn(`${server} is not encrypted: whoever listens on the way can use the session`)
  const token = given === undefined ? await askBrowser(cli, server, {browser, ...(dc && {dc})}) : await readToken(cli, given)
  const client = openPatient(server, () => token)
  const me = await client.get('/auth/me')
  if (!me.org) throw signedOut(`${me.user.email} is in no org there: accept an invitation in the browser first`, server)
  await keepProfile(settings, server, {token, org: me.org.id, orgName: me.org.name, email: me.user.email})
  out.answer({server, ...me}, [
    `Signed in at ${server} as ${clean(me.user.name)} <${clean(me.user.email)}>, ${me.role} of ${clean(me.org.name)}`,
    'Next: lading connections, lading templates',
  ])
  if (settings.token && settings.token !== token) out.warn('LADING_TOKEN is set, and goes before this session')
}

const logout = async ({settings, out, server: named}: Cli) => {
  const server = await chooseServer(settings, named())
  const {token} = (await readProfiles(settings)).servers[server] ?? {}
  const problem = token && lifeOf(token) ? await endSession(server, token) : null
  const wasThere = await dropProfile(settings, server)
  out.answer({server, signedOut: wasThere}, wasThere ? `Signed out of ${server}` : `Nobody was signed in at ${server}`)
  if (problem) out.warn(`The server was not told (${problem}): the session ends there within eight hours`)
  if (settings.token) out.warn('LADING_TOKEN is set, and still lets every command in')
}

/** Why it could not be ended; null where it is over, as it may have been before. */
const endSession = async (server: string, token: string): Promise<string | null> => {
  try {
    await openPatient(server, () => token).delete('/auth/session')
    return null
  } catch (error) {
    return error instanceof ApiError && error.status === 401 ? null : failureOf(error).message
  }
}

const readToken = async ({settings, out}: Cli, given: string | true): Promise<string> => {
  if (typeof given === 'string' && given !== '-') {
    out.warn('A token on the command line can be seen by others on this machine: pipe it in, or set LADING_TOKEN')
    return given.trim()
  }
  if (given === true && settings.token) return settings.token
  if (process.stdin.isTTY) throw usage('There is no token to read', 'lading login --token < token.txt, or set LADING_TOKEN')
  const token = (await readText(process.stdin)).trim()
  if (token) return token
  throw usage('The standard input held no token', 'lading login --token < token.txt')
}

/** By a page of the server, which lets the person sign in as always and then hands the session to this machine. */
const askBrowser = async (cli: Cli, server: string, {browser, dc}: {browser: boolean; dc?: string}): Promise<string> => {
  const {out, settings, interrupt} = cli
  await assertReachable(server)
  const signal = interrupt()
  const state = randomBytes(32).toString('hex')
  const listener = await listenForSession(state, {signal, timeoutMs: waitMinutes * 60_000})
  const url = `${server}/cli?${new URLSearchParams({port: String(listener.port), state, ...(dc && {dc})})}`
  const code = `${state.slice(0, 4)}-${state.slice(4, 8)}`.toUpperCase()
  // Also with --json: without it nobody could go on.
  out.err.write(`Open this address in a browser on this machine to sign in:\n  ${url}\nThe page shows the code ${code}. Waiting ...\n`)
  if (browser) openBrowser(settings, url)
  try {
    return await listener.token
  } catch (error) {
    if (error instanceof Interrupted) throw interrupted(error, 'Nobody signed in', 'Start again with: lading login')
    throw new Failure(`Nobody signed in within ${waitMinutes} minutes`, {
      exit: EXIT.signedOut,
      code: 'NOT_SIGNED_IN',
      next: 'Start again with: lading login   (on a machine without a browser: lading login --token < token.txt)',
    })
  } finally {
    listener.close()
  }
}

/** Before a person is sent to a page that is not there. */
const assertReachable = async (server: string): Promise<Json> => openPatient(server, () => null).call('GET', '/health', {timeoutMs: 15_000})

const LOGIN_HELP = `
Without a token a browser is opened on this machine: sign in there, compare the code, and let the
command line in. On another machine, or in CI, use an API token: an administrator makes one with
lading tokens create NAME, and LADING_URL and LADING_TOKEN are set; no login is needed then.

Examples:
  lading login --server https://lading.example.com
  lading login --dc eu
  lading login --token < token.txt

Next: lading whoami, lading connections`
