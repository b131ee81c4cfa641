import fs from 'node:fs'
import {join, relative} from 'node:path'
import {parseArgs} from 'node:util'
import {settingNames} from '../../shared/config.ts'
import {runInForeground} from './foreground.ts'
import {openLogFiles} from './log-files.ts'
import {freePort} from './port.ts'
import {prepareSample, type Sample} from './sample.ts'
import {root, type Stack, startStack} from './stack.ts'
import {paint, printTable} from './terminal.ts'

/** The arguments of `lading up`: the whole service until Ctrl-C, with a status page in the terminal and the logs in files. */
const {values} = parseArgs({options: {directory: {type: 'string'}, port: {type: 'string'}, database: {type: 'string'}}})
const directory = values.directory!
const port = Number(values.port)
const email = 'ana@example.org'

/** The settings that a person's shell can change. Others are ignored, because they may belong to another deployment. */
const keptSettings = ['LOG_LEVEL', 'MODEL_KIND', 'MODEL_URL', 'MODEL_API_KEY', 'MODEL_NAME', 'MODEL_TIMEOUT_SECONDS']

const forgetSettings = () => {
  for (const name of settingNames) if (!keptSettings.includes(name)) delete process.env[name]
  if (values.database) process.env.DATABASE_URL = values.database
}

const start = async () => {
  forgetSettings()
  if ((await freePort(port)) !== port)
    throw new Error(`Port ${port} is in use by another program. Stop that program, or choose another port: lading up --port ${port + 1}`)
  const isFirst = !fs.existsSync(join(directory, 'secrets.json'))
  console.log(isFirst ? 'Starting Lading. The first start creates the database and takes about 20 seconds.' : 'Starting Lading.')
  return startStack({
    directory,
    keep: true,
    ports: {api: port, crm: 4010, payment: 4020},
    sells: true,
    env: {LOG_LEVEL: process.env.LOG_LEVEL ?? 'info'},
    output: openLogFiles(join(directory, 'logs')),
  })
}

const onReady = async (stack: Stack) => {
  const sample = await prepareSample(stack, {directory, email})
  printPage(stack, sample)
}

const printPage = ({apiUrl, crmUrl, paymentUrl}: Stack, {token, file}: Sample) => {
  console.log(
    `\n${paint('bold', 'Lading is up.')} Ctrl-C stops it. The data stays in ${shown(directory)}/, and the next start resumes it.\n`,
  )
  printTable([
    ['Widget', `${apiUrl}/`],
    ['API reference', `${apiUrl}/reference`],
    ['CRM stand-in', crmUrl],
    ...(paymentUrl ? [['Payments stand-in', paymentUrl] as [string, string]] : []),
    ['Logs', `${shown(join(directory, 'logs'))}/`],
  ])
  console.log(`\n${paint('bold', 'Sign in')}  Choose "Local test CRM" and continue as ${email}. The stand-in asks for no password.`)
  console.log(`\n${paint('bold', 'Try')}`)
  console.log(`  In the widget, drop ${shown(file)} and import it into Leads.`)
  console.log('  In another terminal, do the same by one command:\n')
  console.log(`    LADING_URL=${apiUrl} LADING_TOKEN=$(cat ${quoted(token)}) \\`)
  console.log(
    `      node ${quoted(join(root, 'api', 'clients', 'lading.js'))} import ${quoted(file)} --module Leads --match Email --yes --watch\n`,
  )
}

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)
const shown = (path: string) => relative(process.cwd(), path) || path

try {
  await runInForeground({directory, start, onReady, onStopped: () => {}})
} catch (error) {
  console.error(paint('red', (error as Error).message))
  process.exit(1)
}
