import {execFileSync} from 'node:child_process'
import {createHash, createPrivateKey, sign} from 'node:crypto'
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import {readText, root} from './files.ts'

/**
 * The arguments of `npm run release -- FOLDER KEY`, which writes what a release publishes into an empty folder. These files are the package,
 * its SBOM, its licences, `SHA256SUMS`, and an Ed25519 signature of `SHA256SUMS`. `KEY` is the file of the private key in PEM.
 * `docs/install.md` says how users verify a release.
 */
const [, , folder, keyFile] = process.argv
if (folder === undefined || keyFile === undefined) {
  process.stderr.write('Name an empty folder, and a file with a private Ed25519 key (openssl genpkey -algorithm ed25519)\n')
  process.exit(2)
}
const key = createPrivateKey(readFileSync(keyFile))
if (key.asymmetricKeyType !== 'ed25519') throw new Error(`The key is one of ${key.asymmetricKeyType}, not of ed25519`)
const target = resolve(folder)
mkdirSync(target, {recursive: true})
if (readdirSync(target).length > 0) throw new Error(`${target} is not empty. Name another folder`)

const {name, version} = JSON.parse(readText('package.json')) as {name: string; version: string}
const read = (command: string, ...args: string[]) => execFileSync(command, args, {cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2})
const write = (file: string, content: string | Uint8Array) => writeFileSync(join(target, file), content)
read('npm', 'pack', '--silent', '--pack-destination', target)
write(`${name}-${version}.sbom.json`, read('npm', 'run', '-s', 'sbom'))
write(`${name}-${version}.licences.md`, read('npm', 'run', '-s', 'licences'))
const lines = readdirSync(target)
  .toSorted()
  .map(
    file =>
      `${createHash('sha256')
        .update(readFileSync(join(target, file)))
        .digest('hex')}  ${file}\n`,
  )
const sums = Buffer.from(lines.join(''))
write('SHA256SUMS', sums)
write('SHA256SUMS.sig', sign(null, sums, key))
process.stdout.write(lines.join(''))
