#!/usr/bin/env node
// Plain JavaScript, so that a Node which cannot run the rest can still say so.
import {readFileSync} from 'node:fs'
import module from 'node:module'
import {homedir} from 'node:os'
import {join} from 'node:path'
import process from 'node:process'
import {fileURLToPath} from 'node:url'

const leastNode = 24
const [major] = process.versions.node.split('.')

/** Node strips no types below `node_modules`: there our own files are stripped as they are loaded. */
const stripOurOwn = async () => {
  const home = new URL('.', import.meta.url).href
  const {default: amaro} = await import('amaro')
  module.registerHooks({
    load(url, context, next) {
      if (!url.startsWith(home) || !url.endsWith('.ts')) return next(url, context)
      const {code} = amaro.transformSync(readFileSync(fileURLToPath(url), 'utf8'), {mode: 'strip-only'})
      return {format: 'module', shortCircuit: true, source: code}
    },
  })
}

if (Number(major) < leastNode) {
  process.stderr.write(
    `lading needs Node ${leastNode} or later, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer one from https://nodejs.org, or put it first on the PATH, and run the command again.\n',
  )
  process.exitCode = 1
} else {
  // Halves the start. In a folder of the user's own: what lies in a shared one could be anybody's code.
  module.enableCompileCache(join(homedir(), '.cache', 'lading'))
  if (import.meta.url.includes('/node_modules/')) await stripOurOwn()
  const {main} = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
