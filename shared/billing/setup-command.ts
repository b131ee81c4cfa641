import {readFile} from 'node:fs/promises'
import {parseArgs} from 'node:util'
import {z} from 'zod'
import {openDatabase, sqlStateOf} from '../../sql/database.ts'
import {type Config, databaseUrlOf, noWebhookSecret, readSetupConfig} from '../config.ts'
import {Refusal} from '../errors.ts'
import {openLog} from '../telemetry/log.ts'
import {PaymentFailure} from './payment-failure.ts'
import {openPaymentProvider} from './payment-provider.ts'
import {PriceList} from './setup/price-list.ts'
import {type SetupReport, setUpSelling} from './setup/setup.ts'
import {type SellingProblem, verifySelling, webhookUrlOf} from './verify/selling.ts'

/** Runs `lading billing setup` or `lading billing check` with the environment of the API. Returns the exit code: 1 while a problem remains. */
const main = async (args: string[]): Promise<number> => {
  const {positionals, values} = parseArgs({
    args,
    allowPositionals: true,
    options: {prices: {type: 'string'}, 'webhook-url': {type: 'string'}, json: {type: 'boolean', default: false}},
  })
  const [verb] = positionals
  if (verb !== 'setup' && verb !== 'check') throw new Refusal('INVALID', 'Choose a command: `setup` or `check`')
  const config = readSetupConfig()
  if (!config.PAYMENT_API_KEY)
    throw new Refusal('NOT_CONFIGURED', 'PAYMENT_API_KEY is not set. Set it to the secret key of the payment provider')
  const webhookUrl = values['webhook-url'] ?? webhookUrlOf(config)
  const prices = verb === 'setup' ? await readPrices(values.prices) : null
  const db = await openDatabase(databaseUrlOf(config), {connections: 2})
  try {
    const tools = {config, db, payment: openPaymentProvider(config), log: openLog('billing-setup', 'silent')}
    const report = prices ? await setUpSelling(tools, {prices, webhookUrl}) : {problems: await verifySelling(tools, {webhookUrl})}
    print(values.json ? JSON.stringify(report, null, 2) : describe(report, config))
    return report.problems.length > 0 ? 1 : 0
  } finally {
    await db.end()
  }
}

const readPrices = async (file: string | undefined): Promise<PriceList> => {
  if (file === undefined) throw new Refusal('INVALID', 'Pass the file with your prices: --prices prices.json')
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Refusal('INVALID', `${file} cannot be read. Pass the file with your prices: --prices prices.json`)
  })
  const parsed = PriceList.safeParse(parseJson(text, file))
  if (parsed.success) return parsed.data
  throw new Refusal('INVALID', `${file}: ${z.prettifyError(parsed.error)}`)
}

const parseJson = (text: string, file: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Refusal('INVALID', `${file} is not JSON: ${(error as Error).message}`)
  }
}

const describe = (report: Partial<SetupReport> & {problems: SellingProblem[]}, config: Config): string =>
  [
    ...(report.priced ? [`Priced: ${report.priced.join(', ')}`] : []),
    ...(report.portal ? ['Set these for the API and the workers, and restart them:', ...environmentOf(report, config)] : []),
    ...report.problems.map(({about, message}) => `Problem (${about}): ${message}`),
    report.problems.length
      ? 'Fix the problems and run: lading billing check'
      : 'Prices, webhook endpoint, portal and key permissions are verified.',
  ].join('\n')

const environmentOf = ({portal, webhook}: Partial<SetupReport>, config: Config) => [
  describeSecret(webhook!, config),
  `PAYMENT_PORTAL_CONFIGURATION=${portal}`,
  ...(config.DEFAULT_PLAN === 'free' ? [] : ['DEFAULT_PLAN=free']),
]

/** The provider shows the secret of an existing endpoint only in its dashboard. */
const describeSecret = ({id, secret}: SetupReport['webhook'], {PAYMENT_WEBHOOK_SECRETS: known}: Config) => {
  if (secret !== null) return `PAYMENT_WEBHOOK_SECRETS=${secret}`
  return !known.includes(noWebhookSecret)
    ? `(PAYMENT_WEBHOOK_SECRETS is unchanged: the endpoint ${id} already existed)`
    : `PAYMENT_WEBHOOK_SECRETS=<the signing secret of the endpoint ${id}, shown in the provider's dashboard>`
}

const print = (text: string) => process.stdout.write(`${text}\n`)

const printLine = (error: unknown): number => {
  if (!(error instanceof Error)) throw error
  // The error `undefined_table`: the tables of this service are missing.
  if (sqlStateOf(error) === '42P01')
    return printLine(new Error('The database is not prepared. Run `npm run migrate`, then run this command again'))
  const of = error instanceof PaymentFailure ? 'The payment provider: ' : ''
  process.stderr.write(`Error: ${of}${error.message}\n`)
  return 1
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2)).catch(printLine)
