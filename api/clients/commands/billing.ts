import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {existsSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {usage} from '../cli/failure.ts'
import type {Cli} from '../cli/session.ts'

type SetupOptions = {prices: string; webhookUrl?: string}

export default (cli: Cli, program: Command) => {
  const billing = program
    .command('billing')
    .summary('set up and check the sale of plans (operators)')
    .description(
      'For operators, on a machine with the checkout of the server and the environment of the API: DATABASE_URL, PUBLIC_URL and PAYMENT_API_KEY.',
    )
  billing
    .command('setup')
    .summary('create prices, webhook endpoint and portal at the payment provider')
    .requiredOption('--prices <file>', 'prices of plans and packs, as JSON')
    .option('--webhook-url <url>', 'where the provider sends events (default: PUBLIC_URL/billing/webhook)')
    .action(({prices, webhookUrl}: SetupOptions) =>
      runOnServer(cli, ['setup', '--prices', prices, ...(webhookUrl ? ['--webhook-url', webhookUrl] : [])]),
    )
  billing
    .command('check')
    .summary('compare plans and prices with the payment provider')
    .option('--webhook-url <url>', 'where the provider sends events (default: PUBLIC_URL/billing/webhook)')
    .action(({webhookUrl}: Partial<SetupOptions>) => runOnServer(cli, ['check', ...(webhookUrl ? ['--webhook-url', webhookUrl] : [])]))
  addExamples(billing, {setup: 'setup --prices prices.json', check: 'check'})
}

const script = fileURLToPath(new URL('../../../shared/billing/setup-command.ts', import.meta.url))

/** Runs the setup as a separate process, because it needs the database and the provider's key. */
const runOnServer = async ({out, exit}: Cli, args: string[]) => {
  if (!existsSync(script))
    throw usage('This command works only on the server', 'Run it in the checkout of the server: npx lading billing --help')
  const child = spawn(process.execPath, [script, ...args, ...(out.json ? ['--json'] : [])], {stdio: 'inherit'})
  const [code] = await once(child, 'exit')
  exit((code as number | null) ?? 1)
}
