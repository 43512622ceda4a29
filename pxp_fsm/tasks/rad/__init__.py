"""RAD: findings in chest radiographs."""
