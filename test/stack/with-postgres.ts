import {spawn} from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {openKeeper} from './keeper.ts'
import {startPostgres} from './postgres.ts'

const programs = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url))

/** Runs a command with `DATABASE_URL` of a throwaway cluster, or as it is when the caller named a database already. */
const runWithPostgres = async ([command, ...args]: string[]) => {
  if (!command) throw new Error('usage: node test/stack/with-postgres.ts <command> [arguments]')
  if (process.env.DATABASE_URL) return run(command, args, process.env.DATABASE_URL)
  const directory = join(os.tmpdir(), `lading-test-${process.pid}-${Date.now().toString(36)}`)
  const cluster = await startPostgres({directory, keep: false})
  try {
    return await run(command, args, cluster.url)
  } finally {
    await cluster.stop()
  }
}

const run = (command: string, args: string[], url: string) =>
  new Promise<number>((resolve, reject) => {
    const keeper = openKeeper()
    // For the hundreds of threads and processes of a test run: compiled once, the service loads in half the processor time.
    const compiled = fs.mkdtempSync(join(os.tmpdir(), 'lading-compiled-'))
    keeper.remove(compiled)
    const PATH = `${programs}${delimiter}${process.env.PATH}`
    const child = spawn(command, args, {stdio: 'inherit', env: {NODE_COMPILE_CACHE: compiled, ...process.env, DATABASE_URL: url, PATH}})
    if (child.pid) keeper.run(child.pid, ['SIGTERM', 'SIGKILL'])
    // At a terminal, Ctrl-C is sent to the whole group: told twice, a runner takes it for "at once".
    process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.once('error', reject)
    child.once('exit', () => keeper.end(child.pid ?? 0))
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? os.constants.signals[signal] : 1)))
  })

process.exitCode = await runWithPostgres(process.argv.slice(2))
