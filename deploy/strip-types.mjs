// usage: node deploy/strip-types.mjs FOLDER…
// Replaces the types in every .ts file of the folders by blanks, so lines and columns stay. stripped.mjs then loads the files without the
// type stripper of Node, which takes about 15 MiB in each process and each thread.
import {globSync, readFileSync, writeFileSync} from 'node:fs'
import {transformSync} from 'amaro'

for (const folder of process.argv.slice(2))
  for (const path of globSync(`${folder}/**/*.ts`).filter(path => !path.endsWith('.d.ts'))) {
    writeFileSync(path, transformSync(readFileSync(path, 'utf8'), {mode: 'strip-only'}).code)
  }
