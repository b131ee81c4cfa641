import fs from 'node:fs'
import {join, relative, resolve} from 'node:path'
import {parseArgs} from 'node:util'
import {runInForeground} from './foreground.ts'
import {signIn} from './journey.ts'
import {root, type Stack, startStack} from './stack.ts'
import {openOutput, paint, printTable} from './terminal.ts'

/** The preferred ports. */
const wanted = {api: Number(process.env.PORT) || 4000, crm: 4010, payment: 4020}
const {values} = parseArgs({options: {directory: {type: 'string', default: join(root, '.data', 'start')}}})
const directory = resolve(values.directory)
/** The file with Ana's session token, for calling the API from a shell. */
const sessionFile = join(directory, 'session')
/** The file with the URL of the database while the stack runs. `npm run maintenance` reads it. */
const databaseFile = join(directory, 'database')
const email = 'ana@example.org'

/**
 * Starts the whole service for `npm start`, with data in `.data/start` or `--directory`. It prints warnings and errors; with LOG_LEVEL=info also
 * every request and job.
 */
const start = () =>
  startStack({directory, keep: true, ports: wanted, sells: true, env: {LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn'}, output: openOutput()})

const onReady = async (stack: Stack) => {
  fs.writeFileSync(databaseFile, stack.databaseUrl, {mode: 0o600})
  if (stack.isInMaintenance) console.log(paint('yellow', 'Maintenance is on. `npm run maintenance off` opens the API, a restart signs in.'))
  else fs.writeFileSync(sessionFile, await signIn(stack.apiUrl, email), {mode: 0o600})
  printAddresses(stack)
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
  await runInForeground({directory, start, onReady, onStopped: () => fs.rmSync(databaseFile, {force: true})})
} catch (error) {
  console.error(paint('red', (error as Error).message))
  process.exit(1)
}
