/** A test: its file, and a title or a part of the title as in the source. */
export type Proof = [file: string, title: string]
/**
 * A threat, the goal, and the tests that prove each claim. `matrix.test.ts` checks that these tests exist. This file holds S1 to S8, and
 * `threats-of-surroundings.ts` the others.
 */
export type Threat = {threat: string; goal: string; held: Record<string, Proof[]>}

export const ofCallers: Record<string, Threat> = {
  S1: {
    threat: 'an id of another org in any route that takes one',
    goal: 'every route that takes an id answers byte for byte as to an unknown id',
    held: {
      'the org of the bearer against that of the path, before all else': [['test/access.test.ts', 'a session of another org']],
      'every id parameter of every route, asked by the owner': [
        ['test/other-orgs-ids.test.ts', 'for (const {collection, name} of parametersOf(route))'],
      ],
      'the same by every other role, an API token, a view of staff and nobody': [
        ['test/other-orgs-ids.test.ts', 'cannot distinguish an id of another org at any route'],
      ],
      'ids in bodies and queries': [['test/other-orgs-ids.test.ts', 'Ids in bodies and queries, which do not occur in the paths.']],
      'no route without a row': [['test/access.test.ts', 'every route has a row in the permission table, and every row has a route']],
      'an invitation tells nobody whose it is': [
        ['test/api/invitations.test.ts', 'an invitation to another address looks exactly like an unknown one'],
      ],
      'no row of an org that nobody asked changes': [
        ['test/api/fuzz.test.ts', 'requests drawn from the route table are answered as declared'],
      ],
    },
  },
  S2: {
    threat: 'a forged session token',
    goal: 'none of some thirty kinds of forgery is accepted',
    held: {
      'algorithms none and other, a public key as secret': [
        ['test/api/session-forgery.test.ts', 'no algorithm at all'],
        ['test/api/session-forgery.test.ts', 'a public key used as the secret'],
        ['test/api/session-forgery.test.ts', 'two algorithms'],
      ],
      'key ids that are a path, a statement or a property': [
        ['test/api/session-forgery.test.ts', 'a path as key id'],
        ['test/api/session-forgery.test.ts', 'an SQL statement as key id'],
        ['test/api/session-forgery.test.ts', 'an object property as key id'],
      ],
      'keys that the header brings or points at': [
        ['test/api/session-forgery.test.ts', 'its own public key in the header'],
        ['test/api/session-forgery.test.ts', 'an address of its key'],
        ['test/api/session-forgery.test.ts', 'a certificate of its own in the header'],
      ],
      'issuer, audience, type, beginning and end': [
        ['test/api/session-forgery.test.ts', 'a start in the future'],
        ['test/api/session-forgery.test.ts', 'an expiry in the past'],
        ['test/shared/people.test.ts', 'a signed id with another algorithm, type, issuer or audience is refused'],
      ],
      'claims said twice': [['test/api/session-forgery.test.ts', 'two subjects under no key of ours']],
      'a megabyte of token': [['test/api/session-forgery.test.ts', 'a token of a megabyte is refused with an error envelope']],
      'one kind of secret for another': [['test/api/oauth-attacks.test.ts', 'a secret of one kind is not accepted as another kind']],
    },
  },
  S3: {
    threat: 'a copy of the database that gives its reader access',
    goal: 'no issued secret is found in a dump of every table',
    held: {
      '256 random bits with prefix and checksum, kept as a hash': [
        ['test/shared/people.test.ts', 'a token secret has our prefix, 256 random bits and a checksum'],
        ['test/api/tokens.test.ts', 'the database stores a hash of a token and not its secret'],
        ['test/api/embed-tokens.test.ts', 'an embed token describes itself, and only a hash of its secret is stored'],
      ],
      'no secret in any table, as it is or encoded': [
        [
          'test/security/s03-secrets.test.ts',
          'secrets are stored in no table, and logs contain neither secrets nor text that people wrote',
        ],
        ['test/api/oauth-attacks.test.ts', 'no table contains an OAuth secret'],
      ],
      'nothing compares a secret character by character': [['test/boundaries.test.ts', 'secretComparisons']],
      'revoked and expired from the next request on': [
        ['test/api/tokens.test.ts', 'a revoked token is refused on its next request, and revoking is idempotent'],
        ['test/api/tokens.test.ts', 'a token expires by the clock of the database'],
      ],
    },
  },
  S4: {
    threat: 'too many, too large or too slow requests',
    goal: 'eight hundred slow connections do not delay others, and all of them are closed',
    held: {
      'a count for each bearer and each address, and when to come back': [
        ['test/api/rate-limit.test.ts', 'a bearer over its rate limit gets Retry-After; another bearer is not affected'],
        ['test/api/rate-limit.test.ts', 'an address over its rate limit is refused before authentication; health checks are not counted'],
      ],
      'sizes of bodies': [
        ['test/api/envelope.test.ts', 'JSON of more than a mebibyte is refused, with or without a content length'],
        ['test/api/mcp.test.ts', 'MCP accepts only POST and JSON, at most a mebibyte and twenty messages'],
      ],
      'size of headers': [['test/api/session-forgery.test.ts', 'a token of a megabyte is refused with an error envelope']],
      'slow headers, slow bodies, read or unread': [
        ['test/security/s04-slow-clients.test.ts', 'eight hundred slow clients do not delay other clients, and are all disconnected'],
        ['test/api/server.test.ts', 'a client that stops sending headers gets 408'],
      ],
      'readers that do not read': [
        [
          'test/security/s04-slow-clients.test.ts',
          'a client that does not read its answer is disconnected, and one that reads late is not',
        ],
      ],
    },
  },
  S5: {
    threat: 'a text on which a pattern takes forever',
    goal: 'no pattern of the source does; a pattern of users takes a tenth of a second at most',
    held: {
      'every pattern of the source, by an analysis': [['test/boundaries.test.ts', 'slowPatterns']],
      'what files and CRMs send': [['test/security/s05-patterns.test.ts', 'takes no longer than its length']],
      'patterns people write: RE2, bounded in length times cell': [
        ['test/shared/files/cleaning/pattern.test.ts', 'the time of a pattern is bounded for any cell'],
        ['test/shared/files/cleaning/pattern.test.ts', 'the length of a pattern counts written-out repetitions, not its syntax characters'],
      ],
      'cleaning steps that grow text, held to the limits of a row and a file': [
        ['test/shared/files/cleaning/cleaned-size.test.ts', 'a step that makes a row too long is refused with step and row'],
        ['test/shared/files/cleaning/cleaned-size.test.ts', 'a file made too long by steps is refused at the row that passes the limit'],
      ],
      'the rest of what people write runs in the sandbox': [
        ['test/shared/expressions/bombs.test.ts', 'is answered in time, and the next evaluation works'],
      ],
    },
  },
  S6: {
    threat: 'an expression that breaks out, or takes the process with it',
    goal: 'sixty bombs and the process alive after each',
    held: {
      'sixty of them, each ended in time, the next evaluation fine': [
        ['test/shared/expressions/bombs.test.ts', 'there are at least sixty bombs with distinct names'],
        ['test/shared/expressions/bombs.test.ts', 'is answered in time, and the next evaluation works'],
      ],
      'nothing is left for the next row, the next program': [
        ['test/shared/expressions/sandbox.test.ts', 'a row cannot change the input of the next row or the result of the next expression'],
        ['test/shared/expressions/faults.test.ts', 'libraries and context of one program are not visible to the next'],
      ],
      'who ended is one row, and a run that cannot go on says so': [
        ['test/workers/import-expressions.test.ts', 'a row whose expression takes too long fails alone'],
        ['test/workers/import-expressions.test.ts', 'a run stops with EXPRESSION_TIMEOUT if an expression takes too long in every row'],
      ],
    },
  },
  S7: {
    threat: 'a small workbook that unpacks to a large one',
    goal: 'each refused before it is in memory',
    held: {
      'by what it declares': [
        ['test/shared/files/xlsx-refused.test.ts', 'a workbook that declares too large a size is refused before it is unpacked'],
      ],
      'shared strings, counted at each use': [
        ['test/shared/files/xlsx-refused.test.ts', 'a shared string counts towards the unpack limit for every cell that names it'],
      ],
      'by what it hides': [['test/shared/files/xlsx-refused.test.ts', 'a workbook with a false size is measured while it is unpacked']],
      "the CRM's own files": [
        [
          'test/shared/crm/bulk-read.test.ts',
          'a file that is no ZIP, is corrupt, unpacks to more than the limit, or lacks a column is unreadable',
        ],
      ],
      'entries over one another': [['test/security/s07-archives.test.ts', 'overlapping entries each count with their full unpacked size']],
      'archives in archives': [['test/security/s07-archives.test.ts', 'archives inside a workbook are not unpacked']],
      'names that are paths': [['test/security/s07-archives.test.ts', 'entry names that are paths write no file']],
      'entities of XML': [['test/security/s07-archives.test.ts', 'are not expanded']],
      'shared strings': [
        ['test/security/s07-archives.test.ts', 'a long shared string in many cells is read in chunks of a few rows'],
        ['test/security/s07-archives.test.ts', 'shared strings are refused beyond a number of characters'],
      ],
      'few bytes for many cells, and text without an end': [
        ['test/shared/files/xlsx-refused.test.ts', 'a few bytes that expand to more cells than any file may have are refused'],
        ['test/shared/files/xlsx-refused.test.ts', 'endless text is refused long before it is in memory'],
      ],
    },
  },
  S8: {
    threat: 'a cell that a spreadsheet runs',
    goal: 'no formula in downloaded files, and every cell unchanged except for an apostrophe',
    held: {
      'results: cells, names, records, errors': [['test/security/s08-formulas.test.ts', 'results contain no formula in cells']],
      'regardless of the cells': [['test/security/s08-formulas.test.ts', 'results contain no formula for any cells']],
      plans: [['test/security/s08-formulas.test.ts', 'a plan contains no formula']],
      'quotes by RFC 4180': [
        ['test/shared/runs/results/results-csv.test.ts', 'cells are quoted where necessary, and keep their line ends'],
      ],
      'failed rows start no formula, and are read back without loss': [
        ['test/shared/runs/results/failed-csv.test.ts', 'no cell starts a formula, and an upload of the file reads every cell unchanged'],
        [
          'test/shared/runs/results/failed-csv.test.ts',
          'a formula beyond the sample is read back, and a file without formulas is read unchanged',
        ],
      ],
      'failed rows as they were, since they are imported again': [
        ['test/shared/runs/results/failed-csv.test.ts', 'an upload of failed.csv reads back any cells unchanged'],
      ],
      'a type that is not guessed': [
        ['test/api/envelope.test.ts', 'every answer has a request id and headers against sniffing and caching'],
      ],
    },
  },
}
