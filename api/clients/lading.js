#!/usr/bin/env node
// This file is plain JavaScript, so that an older Node can start the packaged Node, or report that it is too old.
import {spawn} from 'node:child_process'
import module, {createRequire} from 'node:module'
import {constants, homedir} from 'node:os'
import {join} from 'node:path'
import process from 'node:process'
import {fileURLToPath} from 'node:url'

const leastNode = 24
const [major] = process.versions.node.split('.')

/** Returns the path of the Node that comes as an optional package, or null on a platform without one. */
const findPackagedNode = () => {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`)
  } catch {
    return null
  }
}

/** Runs the same command with another Node. A terminal sends Ctrl-C to both; other signals are passed on. */
const runWith = node => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {stdio: 'inherit'})
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', error => {
    process.stderr.write(`Error: ${node} could not be started: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
}

if (Number(major) < leastNode) {
  const packaged = findPackagedNode()
  if (packaged) runWith(packaged)
  else {
    process.stderr.write(
      `lading requires Node ${leastNode} or later, but this is Node ${process.versions.node} (${process.execPath}).\n` +
        'Install a newer version from https://nodejs.org, put it first on the PATH, then run the command again.\n',
    )
    process.exitCode = 1
  }
} else {
  // The compile cache halves the start-up time. It is in the home directory, because other users could put code into a shared one.
  module.enableCompileCache(join(homedir(), '.cache', 'lading'))
  if (import.meta.url.includes('/node_modules/')) await import('./strip-types.js')
  const {main} = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
