import {readFile} from 'node:fs/promises'
import {parseArgs} from 'node:util'
import {z} from 'zod'
import {openDatabase} from '../sql/database.ts'
import {PaymentFailure} from './billing/payment-failure.ts'
import {openPaymentProvider} from './billing/payment-provider.ts'
import {PriceList} from './billing/setup/price-list.ts'
import {type SetupReport, setUpSelling} from './billing/setup/setup.ts'
import {type SellingProblem, verifySelling, webhookUrlOf} from './billing/verify/selling.ts'
import {type Config, databaseUrlOf, readSetupConfig} from './config.ts'
import {Refusal} from './errors.ts'
import {openLog} from './log.ts'

/** `lading billing setup` and `lading billing check`, with the environment of the API. Ends with 1 while a problem remains. */
const main = async (args: string[]): Promise<number> => {
  const {positionals, values} = parseArgs({
    args,
    allowPositionals: true,
    options: {prices: {type: 'string'}, 'webhook-url': {type: 'string'}, json: {type: 'boolean', default: false}},
  })
  const [verb] = positionals
  if (verb !== 'setup' && verb !== 'check') throw new Refusal('INVALID', 'Say `setup` or `check`')
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
  if (file === undefined) throw new Refusal('INVALID', 'Name the file of your prices: --prices prices.json')
  const parsed = PriceList.safeParse(JSON.parse(await readFile(file, 'utf8')))
  if (parsed.success) return parsed.data
  throw new Refusal('INVALID', `${file}: ${z.prettifyError(parsed.error)}`)
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

/** The secret of an endpoint that existed before is shown in the provider's dashboard only. */
const environmentOf = ({portal, webhook}: Partial<SetupReport>, {DEFAULT_PLAN}: Config) => [
  webhook?.secret ? `PAYMENT_WEBHOOK_SECRETS=${webhook.secret}` : `(PAYMENT_WEBHOOK_SECRETS stays: the endpoint ${webhook?.id} existed)`,
  `PAYMENT_PORTAL_CONFIGURATION=${portal}`,
  ...(DEFAULT_PLAN === 'free' ? [] : ['DEFAULT_PLAN=free']),
]

const print = (text: string) => process.stdout.write(`${text}\n`)

/** An operator is shown the provider's own words. */
const tell = (error: unknown): number => {
  if (!(error instanceof Error)) throw error
  const of = error instanceof PaymentFailure ? 'The payment provider: ' : ''
  process.stderr.write(`Error: ${of}${error.message}\n`)
  return 1
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2)).catch(tell)
