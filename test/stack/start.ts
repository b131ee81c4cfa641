import fs from 'node:fs'
import {join, relative, resolve} from 'node:path'
import {parseArgs} from 'node:util'
import {signIn} from './journey.ts'
import {root, type Stack, startStack} from './stack.ts'
import {openOutput, paint, printTable} from './terminal.ts'

/** `npm start`: the whole service until Ctrl-C or SIGTERM. Its data is kept in `.data/start`, or in `--directory`. */
const wanted = {api: Number(process.env.PORT) || 4000, crm: 4010, payment: 4020}
const {values} = parseArgs({options: {directory: {type: 'string', default: join(root, '.data', 'start')}}})
const directory = resolve(values.directory)
/** File with Ana's session, for trying the API from a shell without a browser. */
const sessionFile = join(directory, 'session')
/** File with the URL of the stack's own Postgres while it runs, read by `npm run maintenance`. */
const databaseFile = join(directory, 'database')
const email = 'ana@example.org'
/** npm forwards the Ctrl-C that the terminal has sent already, so two within this time count as one. */
const onePressMs = 400

const start = async () => {
  const output = openOutput()
  let stack: Stack | null = null
  let askedAt = 0
  const leave = async (code: number) => {
    if (askedAt && Date.now() - askedAt < onePressMs) return
    if (askedAt) stack?.kill()
    if (askedAt || !stack) process.exit(130)
    askedAt = Date.now()
    console.log('\nStopping. Ctrl-C again stops at once.')
    await stack.stop()
    fs.rmSync(databaseFile, {force: true})
    process.exit(code)
  }
  watchParent(() => void leave(0))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void leave(0))
  stack = await startStack({directory, keep: true, ports: wanted, sells: true, env: {LOG_LEVEL: process.env.LOG_LEVEL ?? 'info'}, output})
  fs.writeFileSync(databaseFile, stack.databaseUrl, {mode: 0o600})
  if (stack.isInMaintenance) console.log(paint('yellow', 'Maintenance is on. `npm run maintenance off` opens the API, a restart signs in.'))
  else fs.writeFileSync(sessionFile, await signIn(stack.apiUrl, email), {mode: 0o600})
  printAddresses(stack)
  await stack.databaseEnded
  if (askedAt) return
  console.error(`Postgres has ended; ${join(directory, 'postgres', 'postgres.log')} says why.`)
  await leave(1)
}

/** A SIGTERM to npm ends npm alone. The stack stops when the process that started it is gone. */
const watchParent = (leave: () => void) => {
  const parent = process.ppid
  if (process.env.npm_lifecycle_event === undefined) return
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    leave()
  }, 250)
}

const printAddresses = ({apiUrl, crmUrl, paymentUrl, databaseUrl}: Stack) => {
  console.log(`\n${paint('bold', 'Lading is up.')} Data stays in ${shown(directory)}. Ctrl-C stops it.\n`)
  printTable([
    ['Widget', `${apiUrl}/${instead(apiUrl, wanted.api)}`],
    ['API', `${apiUrl}/reference`],
    ['CRM stand-in', `${crmUrl}${instead(crmUrl, wanted.crm)}`],
    ...(paymentUrl ? [['Payments stand-in', `${paymentUrl}${instead(paymentUrl, wanted.payment)}`] as [string, string]] : []),
    ['Postgres', databaseUrl],
    ['Backoffice', `ADMIN_TOKEN in ${shown(join(directory, 'secrets.json'))}`],
    ['Signed in', `${email}, eight hours: curl -H "authorization: Bearer $(cat ${shown(sessionFile)})" ${apiUrl}/auth/me`],
  ])
  console.log()
}

const shown = (path: string) => relative(process.cwd(), path) || path
const instead = (url: string, port: number) => (new URL(url).port === `${port}` ? '' : paint('yellow', `  (${port} is taken)`))

try {
  await start()
} catch (error) {
  console.error(paint('red', (error as Error).message))
  process.exit(1)
}
