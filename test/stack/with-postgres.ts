import {spawn} from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {openKeeper} from './keeper.ts'
import {startPostgres, throwaway} from './postgres.ts'
import {roomInMemory} from './shared-memory.ts'

const programs = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url))

/**
 * Runs a command with `DATABASE_URL` of a throwaway cluster, or with the caller's own. `--in-memory` is for commands that create hundreds
 * of databases of nearly a thousand files each: on disk, they need ten times the processor time.
 */
const runWithPostgres = async (given: string[]) => {
  const inMemory = given[0] === '--in-memory'
  const [command, ...args] = inMemory ? given.slice(1) : given
  if (!command) throw new Error('usage: node test/stack/with-postgres.ts [--in-memory] <command> [arguments]')
  if (process.env.DATABASE_URL) return run(command, args, {url: process.env.DATABASE_URL, folder: os.tmpdir()})
  const memory = inMemory ? roomInMemory() : null
  const folder = memory ?? os.tmpdir()
  const directory = join(folder, `lading-test-${process.pid}-${Date.now().toString(36)}`)
  const cluster = await startPostgres({directory, keep: false, ...(memory && {flags: [...throwaway, 'max_wal_size=512MB']})})
  try {
    return await run(command, args, {url: cluster.url, folder})
  } finally {
    await cluster.stop()
  }
}

const run = (command: string, args: string[], {url, folder}: {url: string; folder: string}) =>
  new Promise<number>((resolve, reject) => {
    const keeper = openKeeper()
    // The hundreds of threads and processes of a test run share a compile cache, which halves the processor time to load the service.
    const compiled = fs.mkdtempSync(join(folder, 'lading-compiled-'))
    keeper.remove(compiled)
    const PATH = `${programs}${delimiter}${process.env.PATH}`
    const child = spawn(command, args, {stdio: 'inherit', env: {NODE_COMPILE_CACHE: compiled, ...process.env, DATABASE_URL: url, PATH}})
    if (child.pid) keeper.run(child.pid, ['SIGTERM', 'SIGKILL'])
    // A terminal sends Ctrl-C to the whole group, and a test runner would exit at once after a second signal.
    process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.once('error', reject)
    child.once('exit', () => keeper.end(child.pid ?? 0))
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? os.constants.signals[signal] : 1)))
  })

process.exitCode = await runWithPostgres(process.argv.slice(2))
