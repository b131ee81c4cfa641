import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {existsSync} from 'node:fs'
import {constants} from 'node:os'
import {join, resolve} from 'node:path'
import {type Command, InvalidArgumentError} from 'commander'
import {usage} from '../cli/failure.ts'
import {openProgram, packageFolder} from '../cli/program-copy.ts'
import type {Cli} from '../cli/session.ts'

type UpOptions = {directory: string; port: number; database?: string; check?: boolean}

export default (cli: Cli, program: Command) => {
  program
    .command('up')
    .summary('run Lading with stand-ins on this machine')
    .description(
      'Runs the whole service to try it out: PostgreSQL, API, workers, and stand-ins for the CRM and the payment provider. It ends with Ctrl-C, or when the process that started it ends.',
    )
    .option('-d, --directory <path>', 'folder for the data and the logs', 'lading-data')
    .option('-p, --port <number>', 'port of the widget and the API on 127.0.0.1', readPort, 4000)
    .option('--database <url>', 'an empty database of PostgreSQL 15 or later, instead of the packaged PostgreSQL')
    .option('--check', 'start nothing; check the settings of a production deployment in the environment')
    .addHelpText('after', UP_HELP)
    .action((options: UpOptions) => (options.check ? checkSettings(cli) : runUp(cli, options)))
}

const runUp = async (cli: Cli, {directory, port, database}: UpOptions) => {
  if (!existsSync(join(packageFolder, 'test', 'stack', 'up.ts')))
    throw usage('This installation has no service', 'Install the whole package, or run it in a checkout')
  const data = resolve(directory)
  const script = join(openProgram(data), 'test', 'stack', 'up.ts')
  const args = ['--directory', data, '--port', `${port}`, ...(database ? ['--database', database] : [])]
  await runChild(cli, [script, ...args])
}

/**
 * Checks the settings in a separate process, because the command line itself loads no code of the server. Exits with 1 if there is a problem.
 */
const checkSettings = async (cli: Cli) => {
  const strip = packageFolder.includes('/node_modules/') ? ['--import', new URL('../strip-types.js', import.meta.url).href] : []
  await runChild(cli, [...strip, join(packageFolder, 'shared', 'settings-check.ts'), ...(cli.out.json ? ['--json'] : [])])
}

/** Runs a program of the server and exits with its code. A terminal sends Ctrl-C to both processes; this process waits for the child. */
const runChild = async ({exit, interrupt}: Cli, args: string[]) => {
  const child = spawn(process.execPath, args, {stdio: 'inherit'})
  interrupt()
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  exit(code ?? 128 + (signal ? constants.signals[signal] : 1))
}

const readPort = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new InvalidArgumentError('A port is a number from 1 to 65535.')
  return port
}

const UP_HELP = `
The data stays in the folder, and the next start resumes it. Delete the folder to begin again. The
stand-in of the CRM has sample users; nothing leaves this machine.

Examples:
  lading up
  lading up --port 4100 --directory /srv/lading-trial
  lading up --check                      # in the environment of a production deployment

Next: lading import FILE --module Leads --watch, with the variables that lading up prints`
