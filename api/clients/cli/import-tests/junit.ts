import {lineOf} from './difference.ts'
import type {CaseResult} from './run-suite.ts'

export const junitOf = (results: readonly CaseResult[]): string => {
  const suites = Map.groupBy(results, ({suite}) => suite)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals('lading test', results)}>`,
    ...[...suites].flatMap(([suite, own]) => [`  <testsuite ${totals(suite, own)}>`, ...own.flatMap(caseOf), '  </testsuite>']),
    '</testsuites>',
    '',
  ].join('\n')
}

const totals = (name: string, results: readonly CaseResult[]) =>
  `name="${toXml(name)}" tests="${results.length}" failures="${results.filter(({passed}) => !passed).length}" time="${seconds(results.reduce((sum, {ms}) => sum + ms, 0))}"`

const caseOf = ({suite, name, ms, passed, differences}: CaseResult): string[] => {
  const head = `    <testcase classname="${toXml(suite)}" name="${toXml(name)}" time="${seconds(ms)}"`
  if (passed) return [`${head}/>`]
  const lines = differences.map(lineOf)
  return [`${head}>`, `      <failure message="${toXml(lines[0] ?? '')}">${toXml(lines.join('\n'))}</failure>`, '    </testcase>']
}

const seconds = (ms: number) => (ms / 1000).toFixed(3)

/** Escapes a text for XML. Replaces control characters, except tab and line feed, by spaces. */
const toXml = (text: string) =>
  text
    .replaceAll(/[^\P{Cc}\t\n]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
