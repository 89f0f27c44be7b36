import tseslint from 'typescript-eslint';

/** `export default` is for configuration files, `export *` hides what a folder offers. */
const namedExportsOnly = [
  'error',
  { selector: 'ExportDefaultDeclaration', message: 'Use a named export.' },
  { selector: 'ExportAllDeclaration', message: 'Name what is exported.' },
];

/** The sandbox has none of these, and core takes clock, random and environment as arguments. */
const hostGlobals = ['process', 'Buffer', 'crypto', 'fetch', 'structuredClone', 'performance', 'require', '__dirname'];

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', '.holdpoint/', 'test/clients/*.mjs', 'console/assets/*.js'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', 50],
      'max-params': ['error', 3],
      'no-console': 'error',
      'no-restricted-syntax': namedExportsOnly,
      eqeqeq: ['error', 'always'],
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      // A default that ends in `unreachable(x)` is checked by the compiler.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    // Parsers: where data from outside gets its type, once.
    files: [
      'core/*-schema.ts',
      'core/json-record.ts',
      'ledger/rows.ts',
      'core/display.ts',
      'workflows/payload-converter.ts',
      'workflows/turn-shape.ts',
    ],
    rules: { '@typescript-eslint/consistent-type-assertions': 'off' },
  },
  {
    files: ['core/**/*.ts', 'workflows/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...hostGlobals],
      '@typescript-eslint/prefer-readonly': 'error',
    },
  },
  {
    files: ['core/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is an argument in core.' },
        { object: 'Math', property: 'random', message: 'Random is an argument in core.' },
      ],
    },
  },
  {
    files: ['cli/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines': ['error', 600],
      'max-lines-per-function': 'off',
      'max-params': 'off',
      '@typescript-eslint/consistent-type-assertions': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // Jest loads a default export from these two.
    files: ['test/support/global-*.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['**/*.cjs', '**/*.mjs'],
    extends: [tseslint.configs.disableTypeChecked],
    rules: { 'no-restricted-syntax': 'off', '@typescript-eslint/no-require-imports': 'off' },
  },
);
